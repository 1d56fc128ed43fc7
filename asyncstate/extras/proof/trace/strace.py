"""Parses the output of strace: the paths that a program and its descendants touched, and the kinds of access.

The names of files are absolute, or relative to a descriptor, whose path ``strace -y`` prints, or relative to the
working directory, which is known from the last ``AT_FDCWD<…>``, ``chdir`` or ``fchdir`` of the process.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.extras.proof.trace.touched import ABSENT, ENSURED, LISTED, LOOKED, MADE, NAMED, REMOVED, WRITTEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Note = Callable[[str, int, str], None]

_LOOKS = "stat stat64 lstat lstat64 newfstatat fstatat64 statx access faccessat faccessat2 readlink readlinkat execve"
_OPENS = "open openat openat2 creat"
_MAKES = "symlink symlinkat mknod mknodat"
_REMOVES = "unlink unlinkat rmdir"
_RENAMES = "rename renameat renameat2"
_LINKS = "link linkat"
_CHANGES = (
    "chmod fchmod fchmodat fchmodat2 chown chown32 lchown lchown32 fchown fchown32 fchownat truncate truncate64 "
    "ftruncate ftruncate64 utime utimes futimesat utimensat setxattr lsetxattr fsetxattr removexattr lremovexattr"
)
_TIMES = frozenset("utime utimes futimesat utimensat".split())
_NAMELESS = frozenset({"fsetxattr", "fremovexattr"})
"""Calls whose text argument names an attribute, not a file."""
_LISTS = "getdents getdents64"
_MOVES = "chdir fchdir"

_KIND = {
    name: kind
    for kind, names in {
        "look": _LOOKS + " execveat",
        "open": _OPENS,
        "mkdir": "mkdir mkdirat",
        "make": _MAKES,
        "remove": _REMOVES,
        "rename": _RENAMES,
        "link": _LINKS,
        "change": _CHANGES,
        "list": _LISTS,
        "move": _MOVES,
    }.items()
    for name in names.split()
}

SYSTEM_CALLS: str = ",".join(f"?{name}" for name in _KIND)
"""The argument of ``strace -e trace=``; a question mark allows that an architecture lacks the call."""

_ENDED = re.compile(
    r"(.*)\)\s+=\s(?:(-?\d+)(?:<((?:[^>\\]|\\.)*)>(?:\(deleted\))?)?|\?)(?:\s(E[A-Z0-9]+)\b.*)?\s*", re.DOTALL
)
_NAMED = re.compile(
    r'(?:(?:AT_FDCWD|-?\d+)(?:<((?:[^>\\]|\\.)*)>(?:\(deleted\))?)?,\s)?(?:"((?:[^"\\]|\\.)*)"|NULL\b)', re.DOTALL
)
_DESCRIPTOR = re.compile(r"-?\d+<((?:[^>\\]|\\.)*)>(\(deleted\))?")
_WORKING = re.compile(r"AT_FDCWD<((?:[^>\\]|\\.)*)>")
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f", b"a": b"\a", b"b": b"\b", b"e": b"\x1b"}
_UMASK = 0o022
_UNFINISHED = "<unfinished ...>"
_WRITING = ("O_WRONLY", "O_RDWR", "O_TRUNC")
_MISSING = frozenset({"ENOENT", "ENOTDIR"})
_DONE = {"make": MADE | WRITTEN, "remove": REMOVED, "change": WRITTEN}


def read(lines: Iterable[str], folder: str, note: Note) -> None:
    """Call ``note(path, flags, mark)`` for every access in the lines of one ``strace -f -y``.

    ``mark`` is as in `Touched.note`, or "". ``folder`` is the working directory of the first process. Lines that are
    no calls are ignored.
    """
    trace = _Trace(folder, note)
    for line in lines:
        trace.line(line)


class _Call(NamedTuple):
    """A finished call. ``real`` is the path of the descriptor that it returned, ``error`` the name of its error."""

    name: str
    process: str
    arguments: str
    error: str
    real: str


class _Trace:
    def __init__(self, folder: str, note: Note) -> None:
        self._first = folder
        self._note = note
        self._folders: dict[str, str] = {}
        self._begun: dict[str, str] = {}
        self._made: dict[str, str] = {}

    def line(self, line: str) -> None:
        process, _, call = line.rstrip("\n").partition(" ")
        call = call.lstrip()
        if call.startswith("<... "):
            call = self._begun.pop(process, "") + call.partition("resumed>")[2]
        elif call.endswith(_UNFINISHED):
            self._begun[process] = call.removesuffix(_UNFINISHED)
            return
        name, _, rest = call.partition("(")
        kind = _KIND.get(name)
        ended = None if kind is None else _ENDED.fullmatch(rest)
        if kind is None or ended is None:
            return
        arguments, result, real, error = ended.groups()
        self._at_work_in(process, arguments)
        if result is not None:
            self._handle(kind, _Call(name, process, arguments, error or "", _plain(real or "")))

    def _at_work_in(self, process: str, arguments: str) -> None:
        if "AT_FDCWD<" in arguments:
            said = _WORKING.search(arguments)
            if said is not None:
                self._folders[process] = _plain(said[1])

    def _handle(self, kind: str, call: _Call) -> None:
        note, error = self._note, call.error
        if kind == "list":
            note(_of_descriptor(call.arguments), LISTED, "")
            return
        paths = [] if call.name in _NAMELESS else self._paths(call)
        if kind == "make" and call.name.startswith("symlink"):
            del paths[:1]  # the text in the link
        path = paths[0] if paths else _of_descriptor(call.arguments) if kind in {"change", "move"} else ""
        if not path:
            return
        looked = ABSENT if error in _MISSING else LOOKED
        if kind == "mkdir":
            what = MADE | ENSURED if not error else ENSURED | LOOKED if error == "EEXIST" else looked
            note(path, what, _made(call) if what & ENSURED else "")
            if what & MADE:
                self._made[os.path.normpath(path)] = call.process
        elif len(paths) > 1 and kind in {"rename", "link"}:
            note(path, looked if error or kind == "link" else REMOVED, "")
            note(paths[1], LOOKED if error else WRITTEN | NAMED, "")
        elif kind == "open" and not error:
            self._open(path, call)
        elif error or kind not in _DONE:
            note(path, looked, "")
        else:
            is_own = self._made.get(os.path.normpath(path)) == call.process
            note(path, _DONE[kind], _set(call, first=is_own) if kind == "change" else "")
        if kind == "move" and not error:
            self._folders[call.process] = os.path.normpath(path)

    def _open(self, path: str, call: _Call) -> None:
        flags = call.arguments.rpartition('"')[2]
        creates = call.name == "creat" or "O_CREAT" in flags
        if not creates and not any(flag in flags for flag in _WRITING):
            what = LOOKED
        elif creates and "O_EXCL" in flags:
            what = MADE | WRITTEN
        else:
            what = WRITTEN | (LOOKED if "O_RDWR" in flags else 0) | (NAMED if creates else 0)
        self._note(path, what, "")
        if call.real.startswith("/") and call.real != path:
            self._note(call.real, what, "")

    def _paths(self, call: _Call) -> list[str]:
        """Return the absolute form of each path among the arguments; "" for an argument without a path."""
        found = []
        for folder, text in _NAMED.findall(call.arguments):
            path = _plain(text)
            if path[:1] != "/":
                above = _plain(folder) if folder else self._folders.get(call.process, self._first)
                # An empty name means the descriptor itself; a descriptor of no file, such as a socket, has no path.
                path = (f"{above}/{path}" if path else _plain(folder)) if above[:1] == "/" else ""
            found.append(path)
        return found


def _made(call: _Call) -> str:
    """Return the mark of a folder that is made, or would be: its mode under the usual umask."""
    mode = call.arguments.rpartition(", ")[2]
    return f"made {int(mode, 8) & ~_UMASK:04o}" if mode.isdigit() else ""


def _set(call: _Call, *, first: bool) -> str:
    """Return the mark of a folder whose mode, owner or time is set, "" for another change.

    ``first``: the process that made the folder sets it. That may be a part of making it.
    """
    after = call.arguments[call.arguments.rfind('"') + 1 :] if '"' in call.arguments else call.arguments
    values = [value for value in after.split(", ")[1:] if value.lstrip("-").isdigit()]
    if "chmod" in call.name and values:
        return f"{'first' if first else 'mode'} {values[0]}"
    if "chown" in call.name and len(values) > 1:
        return f"owner {values[0]} {values[1]}"
    return "time" if call.name in _TIMES else ""


def _of_descriptor(arguments: str) -> str:
    said = _DESCRIPTOR.match(arguments)
    return "" if said is None else _plain(said[1])


def _plain(text: str) -> str:
    """Undo the escapes of a C string; bytes that are not UTF-8 become surrogates, as in every file name of Python."""
    text = text.removesuffix(" (deleted)")
    if "\\" not in text:
        return text
    raw = _ESCAPE.sub(_byte, text.encode("utf-8", "surrogateescape"))
    return os.fsdecode(raw)


def _byte(escape: re.Match[bytes]) -> bytes:
    code = escape[1]
    if code[:1].isdigit():
        return bytes([int(code, 8) & 255])
    if len(code) == 3:
        return bytes([int(code[1:], 16)])
    return _LETTERS.get(code, code)
