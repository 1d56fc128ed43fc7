"""Process 1 of a room, an isolated copy of a root. It runs one program in there.

It runs in namespaces of its own (`rooms` starts it), so all its mounts end with it. The copy is an overlay: the
program's changes go into a separate folder, and are listed at the end. Standard input has a `Stage`, standard output
gets the program's output and its changes.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import stat
import struct
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from asyncstate.extras.proof.shake.container import run_contained
from asyncstate.extras.proof.shake.outcome import Entry, paths_below
from asyncstate.extras.proof.shake.python import PLACE
from asyncstate.model.encode import encoded
from asyncstate.process.child import run_child

if TYPE_CHECKING:
    from collections.abc import Iterator

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

_PROGRAMS_OF_A_SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64")
_KNOWN_TO_PROGRAMS = ("alternatives", "ssl/certs", "ca-certificates")
_ACCOUNTS = ("passwd", "group", "nsswitch.conf", "ld.so.cache")
_KERNEL = ("sys", "sysrq-trigger", "irq", "bus", "fs")
_FOLDERS = {
    "root": 0o700,
    "tmp": 0o1777,
    "var/tmp": 0o1777,
    **dict.fromkeys(("home", "opt", "run", "srv", "var/lib", "var/log"), 0o755),
}


class Stage(msgspec.Struct):
    """The parts of a room: the root, an empty folder to work in, read-only mounts, the program and its input."""

    root: str
    work: str
    mounts: list[tuple[str, str]]
    command: list[str]
    environ: dict[str, str]
    job: str
    own_network: bool = True
    keep: str = ""
    """The path to which the root is copied after the run."""


class Seen(msgspec.Struct):
    """The end of a program: its output, its exit code, its changes, and the former entries of those paths."""

    answer: str
    code: int
    paths: dict[str, Entry | None] = {}
    before: dict[str, Entry | None] = {}


def main() -> None:
    """Make the room, run the program, and list its changes."""
    stage = msgspec.json.decode(sys.stdin.buffer.read(), type=Stage)
    room = _Room(stage)
    room.build()
    with open(f"{stage.work}/answer", "w+b") as answer:
        code = room.run(answer.fileno())
        answer.seek(0)
        text = answer.read().decode(errors="replace")
    if stage.keep:
        copied = run_child(["cp", "-a", "-x", "--", f"{room.merged}/.", stage.keep])
        if copied.returncode:
            raise SystemExit(f"{stage.keep}: {copied.stderr.decode(errors='replace').strip()}")
    paths = dict(room.changes())
    before = {path: Entry.of(f"{stage.root}{path}") for path in paths}
    sys.stdout.buffer.write(encoded(Seen(text, code, paths, before)))


class _Room:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.merged = f"{stage.work}/merged"
        self.upper = f"{stage.work}/upper"

    def build(self) -> None:
        if not self._overlay(self._stage.work):
            _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", self._stage.work)
            if not self._overlay(self._stage.work):
                raise SystemExit("no overlay of the root can be mounted here")
        self._lend_programs()
        self._system_folders()
        place = self._folder(PLACE)
        _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", place)
        for source, target in self._stage.mounts:
            self._bind(source, target)
        if self._stage.own_network:
            _loopback_up()
            socket.sethostname("shaken")

    def _overlay(self, work: str) -> bool:
        for name in ("upper", "work", "merged"):
            os.makedirs(f"{work}/{name}", exist_ok=True)
        # The folder that is mounted over gives the new root its mode and owner.
        shutil.copystat(self._stage.root, self.upper)
        places = f"nodev,lowerdir={self._stage.root},upperdir={self.upper},workdir={work}/work"
        return any(
            _tried("mount", "-t", "overlay", "-o", f"{places}{more}", "overlay", self.merged)
            for more in (",redirect_dir=off,metacopy=off", ",userxattr", "")
        )

    def _lend_programs(self) -> None:
        """Lend the programs of this machine, read-only, to a root that has none."""
        if os.path.lexists(f"{self.merged}/usr"):
            return
        for name in _PROGRAMS_OF_A_SYSTEM:
            source, target = f"/{name}", f"{self.merged}/{name}"
            if os.path.lexists(target) or not os.path.lexists(source):
                continue
            if os.path.islink(source):
                os.symlink(os.readlink(source), target)
            else:
                self._bind(source, source)
        os.makedirs(f"{self.merged}/etc", exist_ok=True)
        for name in _ACCOUNTS:
            source, target = f"/etc/{name}", f"{self.merged}/etc/{name}"
            if os.path.isfile(source) and not os.path.lexists(target):
                shutil.copyfile(source, target)
        for name in _KNOWN_TO_PROGRAMS:
            if os.path.isdir(f"/etc/{name}") and not os.path.lexists(f"{self.merged}/etc/{name}"):
                self._bind(f"/etc/{name}", f"/etc/{name}")

    def _system_folders(self) -> None:
        for name, mode in _FOLDERS.items():
            if not os.path.lexists(f"{self.merged}/{name}"):
                os.makedirs(f"{self.merged}/{name}")
                os.chmod(f"{self.merged}/{name}", mode)
        _mount("-t", "proc", "proc", self._folder("/proc"))
        for name in _KERNEL:
            if os.path.exists(f"{self.merged}/proc/{name}"):
                self._bind(f"{self.merged}/proc/{name}", f"/proc/{name}")
        _tried("mount", "-t", "sysfs", "-o", "ro", "sysfs", self._folder("/sys"))
        devices = self._folder("/dev")
        _mount("-t", "tmpfs", "-o", "mode=755,nodev,nosuid", "tmpfs", devices)
        for name in DEVICES:
            open(f"{devices}/{name}", "w", encoding="utf-8").close()
            _mount("--bind", f"/dev/{name}", f"{devices}/{name}")
        os.mkdir(f"{devices}/shm")
        os.chmod(f"{devices}/shm", _FOLDERS["tmp"])
        for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
            os.symlink(f"/proc/self/{target}", f"{devices}/{name}")

    def _folder(self, path: str) -> str:
        """Make a folder of the root, if it is missing, and return its path outside of the room."""
        os.makedirs(self.merged + path, exist_ok=True)
        return self.merged + path

    def _bind(self, source: str, path: str) -> None:
        """Show a file or a folder of this machine in the root, read-only."""
        target = self.merged + path
        if os.path.isdir(source):
            os.makedirs(target, exist_ok=True)
        elif not os.path.lexists(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            open(target, "wb").close()
        _mount("--bind", source, target)
        # A mount of the machine's may forbid set-id programs and devices; a new one must forbid them, too.
        if not _tried("mount", "-o", "remount,bind,ro", target):
            _mount("-o", "remount,bind,ro,nosuid,nodev", target)

    def run(self, answer: int) -> int:
        """Run the program in the room to its end; end the processes it left. Returns its exit code."""
        old = f"{PLACE}/old"
        self._folder(old)
        stage = self._stage
        job = stage.job.encode()
        code = run_contained(stage.command, stage.environ, self.merged, old, stdin=job, stdout=answer)
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)  # process 1 reaches all others of its namespace, and nothing else
        _reap_all()
        return code

    def changes(self) -> Iterator[tuple[str, Entry | None]]:
        """Yield every path that the program made or changed, or with None deleted. The last of equal paths counts."""
        ours = (PLACE, "/proc", "/sys", "/dev")
        for path in paths_below(self.upper):
            if path.startswith(ours):
                continue
            place = f"{self.upper}{path}"
            found = os.lstat(place)
            deleted = stat.S_ISCHR(found.st_mode) and not found.st_rdev
            if deleted or not stat.S_ISDIR(found.st_mode) or _is_opaque(place):
                yield from ((f"{path}{below}", None) for below in _below(f"{self._stage.root}{path}"))
            yield path, None if deleted else Entry.of(place)


def _below(folder: str) -> Iterator[str]:
    if os.path.isdir(folder) and not os.path.islink(folder):
        yield from (path for path in paths_below(folder) if path != "/")


def _is_opaque(folder: str) -> bool:
    """Return whether an overlay hides the lower folder of this one."""
    for space in ("trusted", "user"):
        try:
            if os.getxattr(folder, f"{space}.overlay.opaque") == b"y":
                return True
        except OSError:
            continue
    return False


def _mount(*arguments: str) -> None:
    done = run_child(["mount", *arguments])
    if done.returncode:
        raise SystemExit(f"mount {' '.join(arguments)}: {done.stderr.decode(errors='replace').strip()}")


def _tried(*command: str) -> bool:
    return not run_child(command).returncode


def _loopback_up() -> None:
    up, request = 0x1, 0x8914  # IFF_UP, SIOCSIFFLAGS
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, request, struct.pack("16sh22x", b"lo", up))


def _reap_all() -> None:
    try:
        while True:
            os.wait()
    except ChildProcessError:
        return


if __name__ == "__main__":
    main()
