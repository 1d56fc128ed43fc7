"""The output of a child, in bounded memory: whole up to a limit; beyond that its beginning, its end and a file.

Most callers parse the output of a program, so for them more than `OUTPUT_LIMIT` bytes are an error: a part of a list
must not pass for the whole. Where output is only shown, `kept` names a folder for output that is too long to show: the
text then has a note in its middle that names the file. The folder is bounded too: files of older runs go first, and
where those of one run reach the limit, the note says what is missing.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Self

import msgspec

from asyncstate.errors import CommandExecutionError
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

OUTPUT_LIMIT: Final = 1 << 26
"""The maximum of bytes of output that a caller gets: all of it is held in memory."""
SHOWN: Final = 1 << 22
"""The maximum of bytes of each stream that a row shows whole."""
ENDS: Final = 1 << 18
"""Bytes that a row shows of the beginning, and of the end, of longer output."""
FILE_LIMIT: Final = 1 << 30
"""The maximum of bytes kept in the files of a run, and of one child's output: a child that writes more is ended."""
FILES: Final = 1000
"""The maximum of files of a run, and of a folder, which keeps at most `FILE_LIMIT` bytes of older runs."""
LEAST_SHOWN: Final = 1 << 12
"""The minimum of bytes of each stream that a row shows, however many states share the budget of a run."""
_SUFFIX: Final = ".output"
_NO_BYTES: Final = "this run has kept all the output that it may keep in files"


class Kept:
    """The files of one run, which hold ``limit`` bytes at most. None is removed: rows name them. Safe for threads."""

    def __init__(self, limit: int = FILE_LIMIT) -> None:
        self._lock = threading.Lock()
        self._left = limit
        self.names: set[str] = set()

    def take(self, size: int) -> int:
        """Take up to ``size`` bytes of what the files may still hold; return how many."""
        with self._lock:
            taken = min(size, self._left)
            self._left -= taken
        return taken

    def make(self, folder: str, title: str) -> tuple[str, int]:
        """Make a file; return its path and descriptor. Raises OSError or CommandExecutionError if it must not be."""
        with self._lock:
            if not self._left:
                raise CommandExecutionError(_NO_BYTES)
            if len(self.names) >= FILES:
                raise CommandExecutionError(f"this run has kept {FILES} files of output")
            name = f"{os.urandom(8).hex()}.{title}{_SUFFIX}"
            made = _make_file(folder, name, self.names)
            self.names.add(name)
        return made


class Keeping(Value):
    """The folder that keeps output too long to show; or ``refused``, the reason why it must not be kept.

    ``shown`` is the number of bytes of a stream that can be shown: `SHOWN`, or the share of one row among many.
    ``files`` are those of the run.
    """

    folder: str
    refused: str = ""
    shown: int = SHOWN
    files: Kept = msgspec.field(default_factory=Kept)

    @classmethod
    def of_many(cls, folder: str, refused: str, rows: int, budget: int, files: Kept) -> Self:
        """Return the limits for each of ``rows`` rows that together may show ``budget`` bytes.

        What is shown does not depend on the output of other rows, so a row is the same in any order of states.
        """
        return cls(folder, refused, min(SHOWN, max(LEAST_SHOWN, budget // max(1, 2 * rows))), files)


_keeping: ContextVar[Keeping | None] = ContextVar("keeping", default=None)


@contextmanager
def kept(keeping: Keeping | None) -> Iterator[None]:
    """Treat the output of programs started in the block as text to show; None: as data to parse."""
    before = _keeping.set(keeping)
    try:
        yield
    finally:
        _keeping.reset(before)


class Output:
    """The output streams of one child. ``exceeded``: it wrote too much, so it is to be ended.

    With a ``limit`` of its own, all output is held in memory, whatever `kept` says.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._keeping = _keeping.get() if limit is None else None
        self.limit: int = limit or (FILE_LIMIT if self._keeping else OUTPUT_LIMIT)
        self._left = self.limit
        self.exceeded: bool = False
        self._streams: dict[str, _Whole | _Ends] = {"out": _Whole(), "err": _Whole()}

    def add(self, name: str, data: bytes) -> None:
        """Add bytes read from ``out`` or ``err``."""
        self._left -= len(data)
        if self._left < 0:
            self.exceeded = True
            return
        stream = self._streams[name]
        if self._keeping and isinstance(stream, _Whole) and len(stream.data) + len(data) > self._keeping.shown:
            stream = self._streams[name] = _Ends(stream, self._keeping, f"std{name}")
        stream.add(data)

    def text(self, name: str) -> bytes:
        """Return the text to show of ``out`` or ``err``, and forget it."""
        stream, self._streams[name] = self._streams[name], _Whole()
        return stream.text()

    def close(self) -> None:
        """Close the files."""
        for stream in self._streams.values():
            stream.close()


class _Whole:
    """A whole stream, in memory. A program that writes byte by byte takes no more than others."""

    def __init__(self) -> None:
        self.data: bytearray = bytearray()

    def add(self, data: bytes) -> None:
        self.data += data

    def text(self) -> bytes:
        return bytes(self.data)

    def close(self) -> None:
        """There is nothing to close."""


class _Ends:
    """The beginning and the end of a stream in memory, and the whole in a file."""

    def __init__(self, begun: _Whole, keeping: Keeping, title: str) -> None:
        self._size = 0
        self._ends = min(ENDS, keeping.shown // 4)
        self._begin = b""
        self._end: deque[bytes] = deque()
        self._held = 0
        self._saved = 0
        self._why = keeping.refused
        self._path, self._file = "", -1
        self._files = keeping.files
        try:
            if not self._why:
                self._path, self._file = self._files.make(keeping.folder, title)
        except (OSError, CommandExecutionError) as error:
            self._why = str(error)
        self.add(bytes(begun.data))

    def add(self, data: bytes) -> None:
        self._size += len(data)
        self._save(data)
        missing = self._ends - len(self._begin)
        if missing > 0:
            self._begin += data[:missing]
            data = data[missing:]
        self._end.append(data)
        self._held += len(data)
        while self._held - len(self._end[0]) >= self._ends:
            self._held -= len(self._end.popleft())

    def _save(self, data: bytes) -> None:
        if self._file < 0:
            return
        rest = memoryview(data)[: self._files.take(len(data))]
        if len(rest) < len(data):
            self._why = _NO_BYTES
        try:
            while rest:
                written = os.write(self._file, rest)
                self._saved += written
                rest = rest[written:]
        except OSError as error:  # the disk is full: the program itself goes on
            self._why = error.strerror or str(error)
        if self._why:
            self.close()

    def text(self) -> bytes:
        self.close()
        end = b"".join(self._end)[-self._ends :]
        left_out = self._size - len(self._begin) - len(end)
        if not self._why:
            place = f"the whole, {self._size} bytes, is in {self._path}"
        elif self._saved:
            place = f"the first {self._saved} of {self._size} bytes are in {self._path}: {self._why}"
        else:
            place = f"the whole, {self._size} bytes, is not kept: {self._why}"
        begin, end = _whole_characters(self._begin, end)
        return begin + f"\n[... {left_out} bytes left out; {place} ...]\n".encode() + end

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _whole_characters(begin: bytes, end: bytes) -> tuple[bytes, bytes]:
    """Cut the incomplete UTF-8 characters at the gap, where the middle was removed."""
    for length in range(1, min(4, len(begin) + 1)):
        if begin[-length] >= 0xC0:  # the first byte of a character of several
            whole = 2 + (begin[-length] >= 0xE0) + (begin[-length] >= 0xF0)
            begin = begin[:-length] if whole > length else begin
            break
    cut = 0
    while cut < min(3, len(end)) and 0x80 <= end[cut] < 0xC0:
        cut += 1
    return begin, end[cut:]


def _make_file(folder: str, name: str, spared: Container[str]) -> tuple[str, int]:
    """Make a file in a private folder, and make room for it there. Raises OSError, also for a link."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    inside = os.open(folder, flags)
    try:
        found = os.fstat(inside)
        if found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise CommandExecutionError(f"{folder} belongs to another user, or others can write there")
        _make_room(inside, spared)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.path.join(folder, name), os.open(name, flags, 0o600, dir_fd=inside)
    finally:
        os.close(inside)


def _make_room(folder: int, spared: Container[str]) -> None:
    """Remove the oldest files until fewer than `FILES` are left, with at most `FILE_LIMIT` bytes, except ``spared``."""
    files: list[tuple[float, str, int]] = []
    for name in os.listdir(folder):
        if name.endswith(_SUFFIX):
            with suppress(OSError):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                files.append((found.st_mtime, name, found.st_size))
    files.sort()
    size = sum(each for _, _, each in files)
    number = len(files)
    for _, name, each in files:
        if number < FILES and size <= FILE_LIMIT:
            break
        if name in spared:
            continue
        number, size = number - 1, size - each
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
