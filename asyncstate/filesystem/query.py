"""Read-only queries: the existence and kind of a path, and the content of folders. Named after ``os.path``."""

from __future__ import annotations

import os
import stat as modes
from typing import TYPE_CHECKING

from asyncstate.dunders.context import seen

from . import place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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
