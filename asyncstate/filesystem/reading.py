"""Opens regular files, and refuses everything else."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING

from asyncstate.dunders.context import seen
from asyncstate.errors import PathRefused

from . import place, rule

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

READ_LIMIT = 1 << 28
"""The largest file that is read as a whole, in bytes."""
_CHUNK = 1 << 16
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_STANDARD = ("/dev/stdin", "/dev/stdout", "/dev/stderr")
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


def open_read(path: str) -> BufferedReader:
    """Open a regular file for reading.

    Raises OSError as ``open`` does; PathRefused for a pipe, a device or a link that others could have put there.
    """
    return os.fdopen(_checked(path)[0], "rb")


def open_text(path: str, *, encoding: str = "utf-8", errors: str = "strict") -> TextIOWrapper:
    """Open a regular text file for reading; every line end becomes a line feed. Raises as `open_read` does."""
    return TextIOWrapper(open_read(path), encoding=encoding, errors=errors)


def read_lines(path: str) -> list[str]:
    """Return the lines of a text file, without line feed and carriage return at their ends. Raises as `open_read`.

    ``str.splitlines`` splits at more: the text behind a form feed in a comment would count when it is written back.
    """
    with TextIOWrapper(open_read(path), encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        return [line.removesuffix("\n").removesuffix("\r") for line in file]


def _checked(path: str) -> tuple[int, os.stat_result]:
    descriptor = _opened(path)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            _require_regular(path, found)
        if found.st_nlink > 1:
            place.require_own_name(path, found)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, found


def _opened(path: str) -> int:
    seen(path)
    try:
        if not rule.is_root():
            return os.open(path, _READ)
        descriptor = rule.open_without_links(place.absolute(path), _READ)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise PathRefused(f"Refusing to read {path}: it is a socket") from error
        raise
    if descriptor is not None:
        return descriptor
    pinned = place.descriptor_of(path)
    try:
        _require_regular(path, os.fstat(pinned))
        return place.reopened(pinned, path, _READ)
    finally:
        os.close(pinned)


def _require_regular(path: str, found: os.stat_result, verb: str = "read") -> None:
    if stat.S_ISREG(found.st_mode):
        return
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    kind = _KINDS.get(stat.S_IFMT(found.st_mode), "not a regular file")
    raise PathRefused(f"Refusing to {verb} {path}: it is {kind}")


def require_readable(path: str) -> None:
    """Raise PathRefused if reading the file would: for dry runs. A missing file or a directory is no error."""
    with suppress(OSError):
        os.close(_checked(path)[0])


@contextmanager
def open_write(path: str) -> Iterator[int]:
    """Open an existing regular file for writing in place, links followed by this package's rule; yield a descriptor."""
    with place.pinned(path) as pinned:
        _require_regular(path, os.fstat(pinned), "write to")
        descriptor = place.reopened(pinned, path, os.O_WRONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read_bytes(path: str, limit: int = READ_LIMIT) -> bytes:
    """Return the content of a regular file. Raises PathRefused if it has more than ``limit`` bytes."""
    descriptor, found = _checked(path)
    try:
        data = _all_of(descriptor, found.st_size, limit)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise PathRefused(f"Refusing to read {path}: it holds more than the {limit} bytes that are read at once")
    return data


def _all_of(descriptor: int, size: int, limit: int) -> bytes:
    """Read to the end, or one byte more than ``limit``. The ``size`` may be wrong: files grow, and /proc reports 0."""
    data = os.read(descriptor, min(size, limit) + 1)
    if len(data) == size > 0 or not data:
        return data
    parts = [data]
    left = limit + 1 - len(data)
    while left > 0 and (part := os.read(descriptor, min(left, _CHUNK))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def read_input(path: str) -> bytes:
    """Return the content of a path named on the command line: a regular file, or a descriptor this process inherited.

    ``/dev/stdin`` and ``/dev/fd/63`` (the shell's ``<(command)``) may be pipes, because no other user could have put
    them there. At most `READ_LIMIT` bytes. Raises as `read_bytes` does.
    """
    if handed_over(path) is None:
        return read_bytes(path)
    with open_input(path) as stream:
        data = stream.read(READ_LIMIT + 1)
    if len(data) > READ_LIMIT:
        raise PathRefused(f"Refusing to read {path}: it gives more than the {READ_LIMIT} bytes that are read at once")
    return data


def open_input(path: str) -> BufferedReader:
    """Open a path named on the command line for reading, as `read_input` does, to be read in parts."""
    number = handed_over(path)
    return open_read(path) if number is None else os.fdopen(os.dup(number), "rb")


def handed_over(path: str) -> int | None:
    """Return the descriptor of this process that ``/dev/stdin``, ``/dev/stdout`` or ``/dev/fd/63`` names; else None."""
    if path in _STANDARD:
        return _STANDARD.index(path)
    for folder in ("/dev/fd/", "/proc/self/fd/"):
        number = path.removeprefix(folder)
        if number != path and number.isdecimal():
            return int(number)
    return None
