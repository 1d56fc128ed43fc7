"""The program on the command line of a host's Python. Any Python since 3.6 can run it, at least to report its version.

It reads a line of JSON from the operator's program, answers with a line about this host, receives the bundle if it is
missing, runs it in a private folder, and removes the folder at the end.
"""

import hashlib
import json
import os
import runpy
import shutil
import signal
import stat
import sys
import sysconfig
import tempfile
from typing import Any

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
READY = b"\nasyncstate-loader-ready\n"


def line() -> bytes:
    text = b""
    while not text.endswith(b"\n"):
        sign = os.read(0, 1)
        if not sign:
            sys.exit(1)
        text += sign
    return text


class Loader:
    def __init__(self, asked: "dict[str, Any]") -> None:
        self.asked: dict[str, Any] = asked
        self.folder: str = ""
        self.kept: str = ""
        name = "asyncstate-%s.pyz" % asked["digest"]
        if asked["keep"]:
            self.kept = os.path.join(os.path.expanduser(asked["keep"]), name)
            self.require_private(os.path.dirname(self.kept))
        self.name: str = name
        self.have: bool = bool(self.kept) and os.path.isfile(self.kept) and self.is_whole(self.kept)

    def say(self, **what: object) -> None:
        os.write(1, b"\n" + self.asked["mark"].encode() + b" " + json.dumps(what).encode() + b"\n")

    def fail(self, why: str) -> None:
        self.say(error=why)
        sys.exit(1)

    def require_private(self, folder: str) -> None:
        os.makedirs(folder, 0o700, exist_ok=True)
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            self.fail("%s is not a private folder of user %d: remove it" % (folder, os.geteuid()))

    def is_whole(self, path: str) -> bool:
        with open(path, "rb") as file:
            return bool(hashlib.sha256(file.read()).hexdigest() == self.asked["digest"])

    def introduce(self) -> None:
        self.say(
            have=self.have,
            abi=sysconfig.get_config_var("SOABI") or "",
            python="%d.%d.%d" % sys.version_info[:3],
            machine=os.uname().machine,
            uid=os.geteuid(),
        )

    def make_folder(self) -> None:
        bases = [self.asked["thin_dir"]]
        if not bases[0]:
            bases = [tempfile.gettempdir(), "/var/tmp", os.path.expanduser("~")]  # noqa: S108 - a folder is made there
        for base in bases:
            if os.path.isdir(base) and os.access(base, os.W_OK) and not os.statvfs(base).f_flag & os.ST_NOEXEC:
                self.folder = os.path.join(base, "asyncstate-" + os.urandom(12).hex())
                os.mkdir(self.folder, 0o700)
                return
        self.fail(
            "no folder can be written to whose programs may run: name one as thin_dir (tried %s)" % ", ".join(bases)
        )

    def take(self, size: int) -> str:
        """Return the path of the complete bundle."""
        path = self.kept or os.path.join(self.folder, self.name)
        if self.have:
            return path
        part = os.path.join(os.path.dirname(path), "part-" + os.urandom(8).hex())
        try:
            with open(part, "xb") as file:
                while size:
                    data = os.read(0, min(size, 1 << 20))
                    if not data:
                        sys.exit(1)
                    file.write(data)
                    size -= len(data)
            if not self.is_whole(part):
                self.fail("the program that came has another checksum than the one that was sent")
            os.rename(part, path)
        finally:
            if os.path.exists(part):
                os.unlink(part)
        return path

    def start(self, path: str) -> None:
        """Start the runner as a child: this process outlives it, and can clear up after one that is killed."""
        self.say()
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        runner = os.fork()
        if runner:
            sys.exit(self.outlive(runner))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        sys.argv = [path, self.folder]
        runpy.run_path(path, run_name="__main__")

    def outlive(self, runner: int) -> int:
        """Wait for the runner, forward signals that end it, clear up if it was killed; return the exit code."""
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1):  # only the runner holds them: their end is its end
            os.dup2(nothing, number)
        for sign in ENDING:
            signal.signal(sign, lambda number, _: os.kill(runner, number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        os.waitid(os.P_PID, runner, os.WEXITED | os.WNOWAIT)  # its number stays its own until no signal is passed on
        for sign in ENDING:
            signal.signal(sign, signal.SIG_IGN)
        status = os.waitpid(runner, 0)[1]
        if not os.WIFSIGNALED(status):
            return os.WEXITSTATUS(status)
        number = os.WTERMSIG(status)
        why = ": is the memory of this host too small?" if number == signal.SIGKILL else ""
        os.write(2, b"the runner was killed by signal %d%s\n" % (number, why.encode()))
        self.clear_for_killed()
        return 128 + number

    def clear_for_killed(self) -> None:
        sys.path.insert(0, os.path.join(self.folder, "lib"))
        try:
            from asyncstate.extras.fleet.ssh import aftermath
        except ImportError:  # it was killed before its library was unpacked: it has done nothing
            return
        aftermath.clear(self.folder)

    def clear(self) -> None:
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


def end(*_: object) -> None:
    raise SystemExit(1)


def main() -> None:
    for number in ENDING:
        signal.signal(number, end)
    os.write(1, READY)
    asked = json.loads(line().decode())
    os.umask(asked["umask"])
    loader = Loader(asked)
    try:
        loader.introduce()
        size = int(line())
        loader.make_folder()
        loader.start(loader.take(size))
    finally:
        loader.clear()


if __name__ == "__main__":
    main()
