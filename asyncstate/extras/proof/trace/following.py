"""Follows programs with strace: finds it, wraps the command lines, and reads its output.

strace runs as a grandchild (``-D``), so that the program is our own child: its exit status, its signals and its process
group are the same as without strace. With ``--seccomp-bpf`` strace stops only at the calls that it records. It lives
as long as the program and its descendants.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem, residue
from asyncstate.errors import AsyncStateError, ConfigError
from asyncstate.extras.proof.trace import strace
from asyncstate.process.child import run_child
from asyncstate.process.lineage import started_here

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from asyncstate.extras.proof.trace.touched import Touched

LIMIT = 1 << 21
"""The number of calls of one program that are read."""

_OPTIONS = ("-D", "-f", "--seccomp-bpf", "-qq", "-y", "-s", "0", "-a", "1", "-e", "signal=none")
_HEADER = 256
_ELF = b"\x7fELF"
_NEXT = "Install the package 'strace' (version 5.10 or newer), or leave --trace-effects out."


class Strace:
    """The strace of this machine. Raises ConfigError, which names the requirement, if programs cannot be followed."""

    def __init__(self, program: str | None = None) -> None:
        self.program: str = shutil.which(program or "strace") or ""
        if not self.program:
            raise ConfigError(f"--trace-effects needs strace, which is not installed. {_NEXT}")
        self._try_out()

    def _try_out(self) -> None:
        descriptor, path = residue.temporary_file("asyncstate-trace-")
        try:
            command = self.command(path, [self.program, "-V"])
            done = run_child(command, cwd="/", timeout=30)
            text = os.pread(descriptor, 1 << 16, 0)
        except OSError as error:
            raise ConfigError(
                f"--trace-effects needs strace, and {self.program} cannot run: {error}. {_NEXT}"
            ) from None
        finally:
            os.close(descriptor)
            with suppress(FileNotFoundError):
                os.unlink(path)
        if done.returncode or b"AT_FDCWD</>" not in text:
            said = done.stderr.decode(errors="replace").strip().splitlines() or ["it saw nothing"]
            raise ConfigError(
                f"--trace-effects needs strace, and {self.program} cannot follow programs here: {said[0]}. A container "
                f"must allow ptrace (docker run --cap-add SYS_PTRACE). {_NEXT}"
            )

    def command(self, output: str, argv: Sequence[str]) -> list[str]:
        """Return the command line that runs ``argv`` and records its calls in the file ``output``."""
        return [self.program, *_OPTIONS, "-e", f"trace={strace.SYSTEM_CALLS}", "-o", output, "--", *argv]

    def follow(
        self,
        argv: Sequence[str],
        cwd: str | None,
        env: Mapping[str, str] | None,
        account: Mapping[str, Any] | None,
        touched: Touched,
    ) -> FollowedProgram | None:
        """Return the program under strace; None if it cannot be started, so that it fails as without strace."""
        found = find_program(argv[0], cwd or os.getcwd(), env)
        if not found:
            return None
        if "PATH" not in (os.environ if env is None else env):
            argv = [found, *argv[1:]]  # strace looks in PATH only, and not in the default one
        owner = (account or {}).get("user")
        return FollowedProgram(lambda path: self.command(path, argv), cwd or os.getcwd(), owner, touched)


class FollowedProgram:
    """One program under strace, and the file that strace writes to. The file belongs to the account of the program."""

    def __init__(self, command: Callable[[str], list[str]], folder: str, owner: int | None, touched: Touched) -> None:
        self._folder = folder
        self._touched = touched
        self._file, self._path = residue.temporary_file("asyncstate-trace-")
        if owner is not None:
            os.fchown(self._file, owner, -1)
        self.argv: Sequence[str] = command(self._path)

    def ended(self) -> None:
        """Read the output of strace. A program that runs on in the background is followed, but not read."""
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        with os.fdopen(self._file, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            strace.read(islice(file, LIMIT), self._folder, self._touched.note)
            if next(file, ""):
                self._touched.unseen[f"more than {LIMIT:,} calls"] = None


def left_running() -> int:
    """Return the number of programs, such as daemons, that traced calls of this process have left running."""
    return sum(_is_strace(process.pid) for process in started_here())


def _is_strace(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            command = file.read(_HEADER).split(b"\0")
    except OSError:
        return False
    return [os.fsencode(option) for option in _OPTIONS] == command[1 : len(_OPTIONS) + 1]


def find_program(name: str, cwd: str, env: Mapping[str, str] | None) -> str:
    """Return the path that ``exec`` would run by itself, without a shell; "" if it would fail."""
    folders = [""] if "/" in name else os.get_exec_path(env)
    for folder in folders:
        path = os.path.join(cwd, folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path if _has_loader(path) else ""
    return ""


def _has_loader(path: str) -> bool:
    """Whether the kernel can run a file: it is a binary, or a script whose interpreter exists."""
    try:
        with filesystem.open_read(path) as file:
            header = file.read(_HEADER)
    except AsyncStateError:
        return True  # strace reports it
    except OSError:
        return False
    if header[:2] != b"#!":
        return header[:4] == _ELF
    words = header[2:].split(b"\n", 1)[0].split()
    return bool(words) and os.access(words[0], os.X_OK)
