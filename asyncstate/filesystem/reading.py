"""Opens regular files, and refuses everything else; answers questions, named after ``os.path``, that change nothing."""

from __future__ import annotations

import errno
import os
import stat as modes
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING

from asyncstate.dunders.context import seen
from asyncstate.errors import PathRefused

from . import place, rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedReader


def stat(path: str) -> os.stat_result:
    """Return the stat of ``path``, links followed."""
    return place.status_of(path)


def lstat(path: str) -> os.stat_result:
    """Return the stat of ``path`` itself, even if it is a link."""
    return place.status_of(path, follow=False)


def _kind(path: str, look: Callable[[str], os.stat_result]) -> int:
    try:
        return look(path).st_mode
    except (OSError, ValueError):
        return 0


def exists(path: str) -> bool:
    """Return whether ``path`` leads to anything."""
    return _kind(path, stat) != 0


def lexists(path: str) -> bool:
    """Return whether an entry exists at ``path``, even a link that leads nowhere."""
    return _kind(path, lstat) != 0


def is_directory(path: str) -> bool:
    """Return whether ``path`` leads to a directory."""
    return modes.S_ISDIR(_kind(path, stat))


def is_plain_directory(path: str) -> bool:
    """Return whether ``path`` is a directory itself, not a link to one."""
    return modes.S_ISDIR(_kind(path.rstrip("/") or path, lstat))


def is_file(path: str) -> bool:
    """Return whether ``path`` leads to a regular file."""
    return modes.S_ISREG(_kind(path, stat))


def is_link(path: str) -> bool:
    """Return whether ``path`` is a symbolic link."""
    return modes.S_ISLNK(_kind(path, lstat))


def same_file(one: str, other: str) -> bool:
    """Return whether two paths lead to the same file or directory."""
    return os.path.samestat(stat(one), stat(other))


def version_of(found: os.stat_result) -> tuple[int, ...]:
    """Return values that differ once another file takes the place of this one, or a process writes to it."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def readlink(path: str) -> str:
    """Return the target of a symbolic link as the link holds it."""
    with place.parent(path) as here:
        return os.readlink(here.name, dir_fd=here.fd)


def _open_to_list(path: str) -> int:
    """Return a descriptor that can list the directory; the caller closes it."""
    seen(path, "listed")
    descriptor = place.open_folder(path)
    try:
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=descriptor)
    finally:
        os.close(descriptor)


def listdir(path: str) -> list[str]:
    """Return the names in a directory, as ``os.listdir`` does."""
    readable = _open_to_list(path)
    try:
        return os.listdir(readable)
    finally:
        os.close(readable)


def _listed(path: str) -> tuple[list[str], list[str], list[str]]:
    """Return three lists of names: directories and links to directories, everything else, real directories only."""
    folders: list[str] = []
    files: list[str] = []
    plain: list[str] = []
    readable = _open_to_list(path)
    try:
        with os.scandir(readable) as entries:
            for entry in entries:
                try:
                    is_folder = entry.is_dir()
                except OSError:
                    is_folder = False
                (folders if is_folder else files).append(entry.name)
                if is_folder and not entry.is_symlink():
                    plain.append(entry.name)
    finally:
        os.close(readable)
    return folders, files, plain


def walk(top: str, *, topdown: bool = True, follow: bool = False) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield ``(folder, directories, files)`` as ``os.walk`` does; folders that cannot be read are left out.

    Links to directories count as directories, but only ``follow`` enters them. Each folder is opened anew by the rule
    of this package, however deep it is. With ``topdown`` the caller may remove directories from the list.
    """
    todo: list[tuple[str, tuple[list[str], list[str]] | None]] = [(top, None)]
    while todo:
        folder, seen = todo.pop()
        if seen is not None:
            yield folder, *seen
            continue
        try:
            folders, files, plain = _listed(folder)
        except OSError:
            continue
        if topdown:
            yield folder, folders, files
        else:
            todo.append((folder, (folders, files)))
        keep = set(plain)
        todo += [(os.path.join(folder, name), None) for name in reversed(folders) if follow or name in keep]


READ_LIMIT = 1 << 28
"""The largest file that is read as a whole, in bytes."""
_CHUNK = 1 << 16
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_STANDARD = ("/dev/stdin", "/dev/stdout", "/dev/stderr")
_KINDS = {
    modes.S_IFIFO: "a pipe",
    modes.S_IFSOCK: "a socket",
    modes.S_IFCHR: "a character device",
    modes.S_IFBLK: "a block device",
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
        if not modes.S_ISREG(found.st_mode):
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
    if modes.S_ISREG(found.st_mode):
        return
    if modes.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    kind = _KINDS.get(modes.S_IFMT(found.st_mode), "not a regular file")
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


def digest(file: BufferedReader, kind: str) -> str:
    """Return the hex digest of an open file. Raises OSError where it would wait: see `read_start`."""
    import hashlib  # noqa: PLC0415 - few runs hash

    size = os.fstat(file.fileno()).st_size
    if size:
        return hashlib.file_digest(file, kind).hexdigest()
    data = _all_of(file.fileno(), size, READ_LIMIT)
    if len(data) > READ_LIMIT:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return hashlib.new(kind, data).hexdigest()


def read_start(path: str, most: int) -> bytes:
    """Return the content of a regular file of the tree, at most ``most`` bytes, whatever links lead there.

    Never waits: some files of /proc are pipes in disguise, others have no end. Raises OSError as ``open`` does,
    PathRefused for a pipe or a device.
    """
    descriptor = os.open(path, _READ)
    try:
        found = os.fstat(descriptor)
        _require_regular(path, found)
        return _all_of(descriptor, found.st_size, most - 1)
    finally:
        os.close(descriptor)


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
