"""Functions on paths: tests of existence and kind, and path arithmetic for templates."""

from __future__ import annotations

import glob
import os
from typing import Any

from asyncstate import filesystem
from asyncstate.errors import CommandExecutionError, InvocationError

_LSTAT = ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid")
_STATVFS = (
    "f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree", "f_files", "f_flag", "f_frsize", "f_namemax",
)  # fmt: skip
_ACCESS = {"f": os.F_OK, "r": os.R_OK, "w": os.W_OK, "x": os.X_OK}


def expand(path: str) -> str:
    """Replace a leading ``~``; a path without one costs only a comparison."""
    return os.path.expanduser(path) if path[:1] == "~" else path


def absolute(path: str, message: str = "File path must be absolute.") -> str:
    """Expand ``path``; InvocationError if it is relative."""
    path = expand(path)
    if not os.path.isabs(path):
        raise InvocationError(message)
    return path


def file_exists(path: str) -> bool:
    """Return whether ``path`` is a regular file, or a link to one."""
    return filesystem.is_file(expand(path))


def directory_exists(path: str) -> bool:
    """Return whether ``path`` is a directory, or a link to one."""
    return filesystem.is_directory(expand(path))


def path_exists_glob(path: str) -> bool:
    """Return whether anything matches the glob ``path``."""
    return bool(glob.glob(expand(path)))


def is_link(path: str, nostat: bool = False) -> bool:
    """Return whether ``path`` is a symbolic link. ``nostat`` reads the directory instead of the file's status."""
    path = expand(path)
    if not nostat:
        return filesystem.is_link(path)
    with os.scandir(os.path.dirname(path)) as entries:
        return any(entry.path == path and entry.is_symlink() for entry in entries)


def is_hardlink(path: str) -> bool:
    """Return whether ``path`` is one of several names of its file."""
    found = lstat(path)
    return bool(found) and found["st_nlink"] > 1


def readlink(path: str, canonicalize: bool = False) -> str:
    """Return the text of the link ``path``, or the real path it leads to. InvocationError if it is no link."""
    path = os.path.expandvars(expand(path))
    if not os.path.isabs(path):
        raise InvocationError(f"Path to link must be absolute: {path}")
    if not filesystem.is_link(path):
        raise InvocationError(f"A valid link was not specified: {path}")
    return os.path.realpath(path) if canonicalize else filesystem.readlink(path)


def readdir(path: str) -> list[str]:
    """Return the names in a directory, with ``.`` and ``..``."""
    path = absolute(path, "Dir path must be absolute.")
    if not filesystem.is_directory(path):
        raise InvocationError(f"A valid directory was not specified: {path}")
    return [".", "..", *filesystem.listdir(path)]


def lstat(path: str) -> dict[str, Any]:
    """Return ``st_…`` of ``path`` itself, without following links; {} if it does not exist."""
    path = absolute(path, "Path to file must be absolute.")
    try:
        found = filesystem.lstat(path)
    except OSError:
        return {}
    return {key: getattr(found, key) for key in _LSTAT}


def access(path: str, mode: str | int) -> bool:
    """Return whether this process may reach ``path``: ``f`` it exists, ``r``, ``w``, ``x``."""
    path = absolute(path, "Path to link must be absolute.")
    if isinstance(mode, str) and mode in _ACCESS:
        return os.access(path, _ACCESS[mode])
    if isinstance(mode, int) and mode in _ACCESS.values():
        return os.access(path, mode)
    raise InvocationError("Invalid mode specified.")


def statvfs(path: str) -> dict[str, int]:
    """Return ``f_…`` of the file system that holds ``path``."""
    path = absolute(path)
    try:
        found = os.statvfs(path)
    except OSError as error:
        raise CommandExecutionError(f"Could not statvfs '{path}'") from error
    return {key: getattr(found, key) for key in _STATVFS}


def diskusage(path: str) -> int:
    """Return the bytes of a file, or of all files below a directory; a file with two names counts once."""
    if filesystem.is_file(path):
        return filesystem.stat(path).st_size
    total = 0
    seen: set[tuple[int, int]] = set()
    for folder, _, files in filesystem.walk(path):
        for name in files:
            try:
                found = filesystem.stat(os.path.join(folder, name))
            except OSError:
                continue
            identity = (found.st_dev, found.st_ino)
            if identity not in seen:
                seen.add(identity)
                total += found.st_size
    return total


def pardir() -> str:
    """Return ``..``."""
    return os.path.pardir


def normpath(path: str) -> str:
    """Return ``path`` without ``.``, ``..`` and doubled slashes."""
    return os.path.normpath(path)


def basename(path: str) -> str:
    """Return what follows the last slash."""
    return os.path.basename(path)


def dirname(path: str) -> str:
    """Return what comes before the last slash."""
    return os.path.dirname(path)


def join(*args: str) -> str:
    """Join parts of a path; an absolute part drops those before it."""
    return os.path.join(*args)
