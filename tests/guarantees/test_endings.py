"""However a run ends: nothing of a call that was cut off is left, and the run depends on nobody who reads it.

The table of ends, for one state at a time and for eight, with real processes. What is left is looked for in the whole
machine, by a mark in the environment, not only where it should be.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import termios
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from cut_site import Site

from asyncstate import Settings, StateRuntime
from asyncstate.journal.store import Journal
from asyncstate.model.result import GAVE_UP
from asyncstate.process.lineage import look_at
from asyncstate.run.lock import RunLock
from asyncstate.run.loop_end import LOOP_CLOSED, PROGRAM_ENDED

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = Path(sys.executable).with_name("asyncstate")


def table(ends, share):
    """Return a case for each end and concurrency. All tests take the ``share`` of them, the full run the others, too."""
    every = [(name, concurrency) for name in ends for concurrency in (1, 8)]
    assert set(share) <= set(every)
    return pytest.mark.parametrize(
        ("name", "concurrency"),
        [pytest.param(*case, marks=() if case in share else pytest.mark.slow) for case in every],
    )


@pytest.fixture
def site(tmp_path, concurrency):
    with Site(tmp_path, concurrency) as site:
        yield site


class End(NamedTuple):
    """What ends a run, its exit code, why the journal says that it ended, and whether running calls are cut off."""

    code: int
    act: Callable[[Session], None]
    cuts: bool = True
    words: tuple[str, ...] = ()
    streams: str = ""
    why: str = ""


class Session:
    """A run of the command line, and the outside ends of its streams."""

    def __init__(self, site: Site, end: End) -> None:
        self.site = site
        command = [PROGRAM, "apply", "all", "--file-root", site.salt, "-j", site.concurrency, *end.words]
        streams = {}
        self.master = -1
        if end.streams == "terminal":
            self.master, theirs = pty.openpty()
            streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
            streams["preexec_fn"] = lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        self.process = site.start(command, **streams)
        if end.streams == "terminal":
            os.close(theirs)

    def signals(self, *numbers: int) -> None:
        for number in numbers:
            self.process.send_signal(number)
            if number == signal.SIGINT:
                assert any("SIGINT: " in line for line in iter(self.process.stderr.readline, ""))

    def hang_up(self) -> None:
        os.close(self.master)
        self.master = -1

    def close(self, *names: str) -> None:
        for name in names:
            getattr(self.process, name).close()

    def ended(self) -> tuple[str, str]:
        out, errors = "", ""
        if self.process.stderr is not None and not self.process.stderr.closed:
            errors = self.process.stderr.read()
        if self.process.stdout is not None and not self.process.stdout.closed:
            out = self.process.stdout.read()
        self.process.wait(120)
        if self.master >= 0:
            os.close(self.master)
        return out, errors


def signalled(*numbers: int, code: int = 0, **more) -> End:
    why = signal.Signals(numbers[0]).name
    return End(code or 128 + numbers[-1], lambda run: run.signals(*numbers), why=why, **more)


ENDS = {
    "finished": End(0, lambda _: None, cuts=False),
    "one Ctrl-C": signalled(signal.SIGINT, cuts=False),
    "two Ctrl-C": signalled(signal.SIGINT, signal.SIGINT),
    "SIGTERM": signalled(signal.SIGTERM),
    "two SIGTERM": signalled(signal.SIGTERM, signal.SIGTERM),
    "SIGHUP": signalled(signal.SIGHUP),
    "SIGQUIT": signalled(signal.SIGQUIT),
    "SIGUSR1": signalled(signal.SIGUSR1),
    "time-out": End(124, lambda _: None, words=("--timeout", "6"), why="out of time after 6 seconds"),
    "closed terminal": End(129, Session.hang_up, streams="terminal", why="SIGHUP"),
    "stdout closed": End(0, lambda run: run.close("stdout"), cuts=False),
    "stderr closed": End(0, lambda run: run.close("stderr"), cuts=False),
    "both closed": End(0, lambda run: run.close("stdout", "stderr"), cuts=False),
}


@table(ENDS, [("two Ctrl-C", 8), ("SIGTERM", 1), ("closed terminal", 1), ("both closed", 8)])
def test_an_end_of_the_command_line_leaves_nothing(site, name):
    end = ENDS[name]
    run = Session(site, end)
    if name != "time-out":
        site.under_way(run.process)
    end.act(run)
    if not end.cuts:
        site.go()
    out, errors = run.ended()
    assert run.process.returncode == end.code, (out, errors)
    assert "Traceback" not in errors
    assert site.left() == []
    assert site.survivor()
    assert site.is_free()
    assert site.journaled() == [f"cancelled: {end.why}" if end.why else "finished"]


class Way(NamedTuple):
    """How a program that uses the library ends a run: what it sees of it, and whether running calls are cut off."""

    ended: str
    code: int | None
    why: str = ""
    cuts: bool = True
    number: int = 0


WAYS = {
    "finished": Way("returned", 0, cuts=False),
    "stop": Way("returned", 125, "enough", cuts=False),
    "cancel": Way("returned", 125, "enough"),
    "time-out": Way("returned", 124, "out of time after 6 seconds"),
    "exception in the block": Way("ValueError", 125, GAVE_UP),
    "asyncio.timeout": Way("TimeoutError", None, GAVE_UP),
    "task cancelled": Way("CancelledError", None, GAVE_UP),
    "task cancelled twice": Way("CancelledError", None, GAVE_UP),
    "sibling fails": Way("ExceptionGroup", None, GAVE_UP),
    "sibling exits": Way("SystemExit", None, GAVE_UP),
    "Ctrl-C": Way("KeyboardInterrupt", None, GAVE_UP, number=signal.SIGINT),
    "generator closed": Way("returned", None, GAVE_UP),
    "runtime closed": Way("returned", 125, "its runtime was closed"),
    "observer fails": Way("returned", 0, cuts=False),
    "observer exits": Way("returned", 0, cuts=False),
    "observer interrupts": Way("returned", 0, cuts=False),
    "observer out of memory": Way("returned", 0, cuts=False),
    "loop closed": Way("returned", 125, LOOP_CLOSED),
    "loop never closed": Way("returned", None, LOOP_CLOSED),
    "program ends": Way("returned", None, PROGRAM_ENDED),
}
DRIVER = Path(__file__).parents[1] / "support" / "ending_program.py"


@table(
    WAYS, [("finished", 8), ("Ctrl-C", 8), ("task cancelled twice", 1), ("runtime closed", 1), ("observer exits", 1)]
)
def test_an_end_of_the_library_leaves_nothing(site, name):
    way = WAYS[name]
    process = site.start([sys.executable, DRIVER, name, site.salt, site.cache, site.concurrency, site.pids])
    if name != "time-out":
        site.under_way(process)
    if way.number:
        process.send_signal(way.number)
    (site.pids / "act").touch()
    if not way.cuts:
        site.go()
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out, errors) == (0, "", "")
    told = json.loads((site.pids / "told").read_text())
    assert (told["ended"], told["code"]) == (way.ended, way.code)
    if name not in ("loop never closed", "program ends"):
        assert (told["zombies"], told["descriptors"]) == ([], 0)
    assert site.left() == []
    assert site.survivor()
    assert site.is_free()
    assert site.journaled() == [f"cancelled: {way.why}" if way.why else "finished"]


async def test_compiling_that_is_cut_off_leaves_no_process(tmp_path):
    pid = tmp_path / "pid"
    command = f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600"
    (tmp_path / "slow.sls").write_text(f"{{{{ salt['cmd.run']({command!r}, python_shell=True) }}}}\n")
    settings = Settings(file_roots={"base": [str(tmp_path)]}, cachedir=str(tmp_path / "cache"))
    async with StateRuntime(settings) as runtime:
        task = asyncio.create_task(runtime.apply(["slow"]))
        while not pid.exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert look_at(int(pid.read_text())) is None
        async with RunLock(settings.cachedir):
            pass


GREEDY = """
def eats(name):
    kept = []
    while True:
        kept.append(bytearray(1 << 24))

async def eats_on_the_loop(name):
    eats(name)
"""


def test_states_that_take_all_memory_fail_alone(tmp_path):
    (tmp_path / "_states").mkdir()
    (tmp_path / "_states" / "own.py").write_text(GREEDY)
    (tmp_path / "all.sls").write_text(
        "one: own.eats\ntwo: own.eats_on_the_loop\nthree:\n  cmd.run:\n    - name: echo on\n    - onfail: [own: one, own: two]\n"
    )
    environ = os.environ | {f"ASYNCSTATE_{name}": str(tmp_path / name) for name in ("CACHEDIR", "STATE_DIR")}
    limit = 500 << 20
    done = subprocess.run(
        [PROGRAM, "apply", "all", "--file-root", tmp_path, "--out", "json", "-j", "8"],
        env={**environ, "HOME": str(tmp_path)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    rows = {row["__id__"]: row for row in json.loads(done.stdout).values()}
    assert [rows[name]["result"] for name in ("one", "two", "three")] == [False, False, True]
    assert all("MemoryError" in rows[name]["comment"] for name in ("one", "two"))
    assert [entry.ending for entry in Journal.open(str(tmp_path / "STATE_DIR"), write=False).runs()] == ["finished"]
    assert os.listdir(tmp_path / "CACHEDIR" / "remains") == []
