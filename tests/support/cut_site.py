"""A tree whose states start all sorts of programs and write all sorts of files, and what is left of them after a run.

Every process that descends from a run has its site's mark in its environment, so none can hide from `Site.left`.

Nobody polls. Programs and the server write a line to a named pipe when they are under way; programs wait at another
one, from which each reads one byte when it may end.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tarfile
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tables import beside

TABLES = beside(__file__)

MARK = "ENDING_OF"

CHILD = """
import os, signal, sys
folder, name, *kinds = sys.argv[1:]
def tell(text):
    news = os.open(f"{folder}/news", os.O_RDWR)  # so that it never waits for a reader
    os.write(news, (text + chr(10)).encode())
    os.close(news)
if "deaf" in kinds:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "daemon" in kinds:
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
if "silent" in kinds:
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
with open(f"{folder}/.{name}", "w") as out:
    out.write(str(os.getpid()))
os.rename(f"{folder}/.{name}", f"{folder}/{name}")
tell(name)
while "lasting" in kinds:
    signal.pause()
os.read(os.open(f"{folder}/{'fail' if 'fails' in kinds else 'go'}", os.O_RDONLY), 1)
sys.exit("fails" in kinds)
"""
"""Starts, says so, and ends when it may."""

PLUGIN = """
import os, subprocess
from asyncstate import residue

def starts(name, command):
    # By itself, without `__salt__`.
    subprocess.run(command)
    return {"name": name, "result": True, "changes": {}, "comment": ""}

def writes(name, folder, command):
    # It does not remove its file if it is cut off.
    with residue.temporary_folder("half-", folder):
        file, path = residue.temporary_file("half-", "", folder)
        os.write(file, b"half")
        os.close(file)
        code = __salt__["cmd.retcode"](command, python_shell=True)
        os.unlink(path)
    return {"name": name, "result": not code, "changes": {}, "comment": ""}

def waits(name, folder, gate="go"):
    # In its thread, where nothing can stop it.
    news = os.open(f"{folder}/news", os.O_RDWR)
    os.write(news, b"stuck" + bytes([10]))
    os.read(os.open(f"{folder}/{gate}", os.O_RDONLY), 1)
    return {"name": name, "result": True, "changes": {}, "comment": ""}
"""

FIRST = """
first:
  cmd.run:
    - name: {child} first daemon silent lasting
"""

SIDE_BY_SIDE = TABLES["side by side"]

ALONE = TABLES["alone"]

FAILING = TABLES["failing"]

LIMITED = TABLES["limited"]

STUCK = """
stuck:
  own.waits:
    - folder: {pids}
    - require: [cmd: first]
    - parallel: True
"""

ENDLESS = TABLES["endless"]

COMPILING = """
{{{{ salt['cmd.run']('{child} pipe deaf lasting & exec {child} compiling deaf lasting', python_shell=True) }}}}
"""

PROGRAMS = {
    1: ("pipe", "session", "forked", "written"),
    8: ("deaf", "forked", "forks", "pipe", "session", "pipes", "plugin", "written"),
}
"""The programs that states wait for, by concurrency."""
FETCHED = ("/managed", "/archive.tar.gz", "/repo.git/info/refs")


SECONDS = 120.0
"""How long a test waits for a program, on a machine that does much else."""


def table(ends, share):
    """Return a case for each end and concurrency. All tests take the ``share`` of them, the full run the others, too."""
    every = [(name, concurrency) for name in ends for concurrency in (1, 8)]
    assert set(share) <= set(every)
    return pytest.mark.parametrize(
        ("name", "concurrency"),
        [pytest.param(*case, marks=() if case in share else pytest.mark.slow) for case in every],
    )


class Site:
    """The tree for one concurrency, its files, and what a run of it needs."""

    def __init__(self, base: Path, concurrency: int) -> None:
        self.base = base
        self.concurrency = concurrency
        self.pids, self.work, self.cache, self.salt = (base / name for name in ("pids", "work", "cache", "salt"))
        for folder in (self.pids, self.work, self.salt / "_states", base / "tmp"):
            folder.mkdir(parents=True)
        self.mark = os.urandom(8).hex()
        self.environ = {key: value for key, value in os.environ.items() if not key.startswith("ASYNCSTATE_")}
        self.environ |= {
            MARK: self.mark,
            "HOME": str(base),
            "TMPDIR": str(base / "tmp"),
            "ASYNCSTATE_CACHEDIR": str(self.cache),
            "ASYNCSTATE_STATE_DIR": str(base / "state"),
            "ASYNCSTATE_GRACE_SECONDS": "0.2",
        }
        self._heard: set[str] = set()
        self._unread = b""
        for name in ("news", "go", "fail", "act", "never"):
            os.mkfifo(self.pids / name)
        self._news = os.open(self.pids / "news", os.O_RDWR)
        self._gates: list[int] = []
        self._go = threading.Event()
        self._processes: list[subprocess.Popen[str]] = []

    def __enter__(self):
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self._write_all()
        return self

    def __exit__(self, *_error: object) -> None:
        self.go()
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        for pid in self.marked():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self._server.shutdown()
        self._server.server_close()
        for descriptor in (self._news, *self._gates):
            os.close(descriptor)

    def _handler(self):
        site = self

        class Slowly(SimpleHTTPRequestHandler):
            """Serves half of a file, and the rest when the states may end."""

            def __init__(self, *args):
                super().__init__(*args, directory=str(site.base / "www"))

            def copyfile(self, source, outputfile):
                data = source.read()
                outputfile.write(data[: len(data) // 2])
                outputfile.flush()
                os.write(site._news, self.path.partition("?")[0].encode() + b"\n")
                site._go.wait()
                with contextlib.suppress(OSError):
                    outputfile.write(data[len(data) // 2 :])

            def log_message(self, *_):
                pass

        return Slowly

    def _write_all(self) -> None:
        (self.base / "child.py").write_text(CHILD)
        (self.salt / "_states" / "own.py").write_text(PLUGIN)
        self.write(FIRST, SIDE_BY_SIDE if self.concurrency > 1 else ALONE)
        if self.concurrency > 1:
            self._write_pages()

    def write(self, *parts: str, anew: bool = False) -> None:
        """Write the SLS, or add to it."""
        argv = [sys.executable, "-ISE", str(self.base / "child.py"), str(self.pids)]
        with self.salt.joinpath("all.sls").open("w" if anew else "a") as file:
            for part in parts:
                file.write(
                    part.format(
                        child=" ".join(argv),
                        argv=", ".join(argv),
                        work=self.work,
                        pids=self.pids,
                        url=f"http://127.0.0.1:{self._server.server_port}",
                    )
                )

    def _write_pages(self) -> None:
        pages = self.base / "www"
        pages.mkdir()
        (pages / "managed").write_text("all of it\n" * 100_000)
        with tarfile.open(pages / "archive.tar.gz", "w:gz") as archive:
            archive.add(pages / "managed", "managed")
        repository = str(pages / "repo.git")
        author = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        for command in (
            ["init", "-q", "--bare", "-b", "main", repository],
            ["-C", repository, "update-ref", "refs/heads/main", "{commit}"],
            ["-C", repository, "update-server-info"],
        ):
            if "{commit}" in command:
                tree = self._git(["-C", repository, "mktree"], author, "")
                command[-1] = self._git(["-C", repository, "commit-tree", "-m", "first", tree], author)
            self._git(command, author)

    @staticmethod
    def _git(words: list[str], environ: dict[str, str], given: str | None = None) -> str:
        done = subprocess.run(
            ["git", *words],
            env={**os.environ, **environ},
            input=given or "",
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    # a run

    def start(self, command: list[object], **streams: object) -> subprocess.Popen[str]:
        """Start a program that applies the tree."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **streams}
        process = subprocess.Popen(
            [str(word) for word in command], env=self.environ, text=True, start_new_session=True, **options
        )
        self._processes.append(process)
        return process

    def under_way(self, process: subprocess.Popen[str], *more: str) -> None:
        """Wait until every state works on something that it cannot end. At one state at a time, ``more`` is that."""
        if self.concurrency == 1 and more:
            self.hear(process, "first", *more)
        else:
            fetched = FETCHED if self.concurrency > 1 else ()
            self.hear(process, "first", *PROGRAMS[self.concurrency], *fetched, *more)

    def hear(self, process: subprocess.Popen[str], *names: str) -> None:
        """Wait until programs have started and fetches have begun. Fails if ``process`` ends before that."""
        until = time.monotonic() + SECONDS
        ended = os.pidfd_open(process.pid)
        try:
            while missing := set(names) - self._heard:
                ready, _, _ = select.select([self._news, ended], [], [], max(0.0, until - time.monotonic()))
                assert ready, f"it did not come to that: {missing}"
                assert ended not in ready, (missing, process.communicate())
                *lines, self._unread = (self._unread + os.read(self._news, 1 << 16)).split(b"\n")
                self._heard.update(line.decode() for line in lines)
        finally:
            os.close(ended)

    def until(self, condition) -> None:
        """Wait for what a program does without a word."""
        until = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < until, "it did not come to that"
            time.sleep(0.1)

    def let(self, gate: str) -> None:
        """Let the programs that wait at ``gate`` end, those that come later, too."""
        self._gates.append(os.open(self.pids / gate, os.O_RDWR))
        os.write(self._gates[-1], b"x" * 100)

    def go(self) -> None:
        """Let all programs and fetches end."""
        self.let("fail")
        self.let("go")
        self._go.set()

    # what is left

    def marked(self) -> dict[int, str]:
        """Return the processes that descend from a run: the name of each program."""
        found = {}
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError, ValueError):
                if f"{MARK}={self.mark}".encode() in Path("/proc", entry, "environ").read_bytes().split(b"\0"):
                    words = Path("/proc", entry, "cmdline").read_bytes().decode().split("\0")
                    found[int(entry)] = " ".join(words)
        return found

    def until_let_go(self) -> None:
        """Wait for the programs that `go` lets end: a command does not wait for one that left its session."""
        self.until(lambda: not self._programs())

    def _programs(self) -> list[str]:
        first = int(self.pids.joinpath("first").read_text()) if self.pids.joinpath("first").exists() else 0
        return [f"process {pid}: {words}" for pid, words in self.marked().items() if pid != first]

    def left(self) -> list[str]:
        """Return what a run has left and should not have: processes, temporary files, locks."""
        processes = self._programs()
        made = {"managed", "extracted", "cloned"}
        files = [path for path in self.work.iterdir() if path.name not in made]
        files += (self.base / "tmp").iterdir()
        if self.cache.exists():
            for path in self.cache.rglob("*"):
                if not path.is_dir() and path.name != "run.lock" and not self._is_cached(path):
                    files.append(path)
        files += self.base.glob("state/journal/*.log")
        files += [path for path in self.work.glob("managed") if not self._is_whole(path)]
        return processes + [str(path) for path in files]

    def _is_cached(self, path: Path) -> bool:
        """Whether a file belongs in the cache: it was fetched to its end, or has compiled templates."""
        name = path.relative_to(self.cache).parts[0]
        return name in {"extmods", "compiled"} or (name == "extrn_files" and self._is_whole(path))

    def _is_whole(self, path: Path) -> bool:
        whole = self.base / "www" / path.name
        return whole.exists() and path.stat().st_size == whole.stat().st_size

    def journaled(self) -> list[str]:
        """Return how each run ended, as the journal has it."""
        from asyncstate.journal.store import Journal

        return [entry.ending for entry in Journal.open(str(self.base / "state")).runs()]

    def survivor(self) -> bool:
        """Whether the daemon lives that a state left before it ended."""
        return int(self.pids.joinpath("first").read_text()) in self.marked()

    def is_free(self) -> bool:
        """Whether another run can begin."""
        from asyncstate.errors import LockHeld
        from asyncstate.guard.lock import RunLock

        try:
            with RunLock(str(self.cache)):
                return True
        except LockHeld:
            return False
