"""The indexes of completion: JSON in the cache directory, which nobody but their user can change or read."""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from hashlib import sha256
from typing import Any

_LARGEST = 1 << 26
"""The largest index that is read, in bytes."""
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def stamp(path: str) -> list[int] | None:
    """Return what tells one content of a file from the next: its time of change, size and inode; None for no file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return [found.st_mtime_ns, found.st_size, found.st_ino]


def key_of(*parts: Any) -> str:
    """Return a short name for values that JSON can hold."""
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:20]


def load(name: str) -> dict[str, Any]:
    """Return an index; {} if there is none, if it is broken, or if somebody else could have written it."""
    try:
        folder = _opened_folder()
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or not _is_own(found) or found.st_size > _LARGEST:
                return {}
            data = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def save(name: str, data: dict[str, Any]) -> None:
    """Replace an index at once and whole. What cannot be kept is found anew the next time."""
    with suppress(OSError):
        os.makedirs(folder_path(), mode=0o700, exist_ok=True)
        folder = _opened_folder()
        new = f".{name}.{os.getpid()}"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(new, flags, 0o600, dir_fd=folder)
            try:
                with open(descriptor, "w", encoding="utf-8") as file:
                    json.dump(data, file, separators=(",", ":"))
                os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(new, dir_fd=folder)
                raise
        finally:
            os.close(folder)


def folder_path() -> str:
    """Return the folder of the indexes. A ``cachedir`` of a configuration file does not count: that is read later."""
    if given := os.environ.get("ASYNCSTATE_CACHEDIR"):
        return os.path.join(os.path.abspath(given), "completion")
    if os.geteuid() == 0:
        return "/var/cache/asyncstate/completion"
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "asyncstate", "completion")


def _opened_folder() -> int:
    """Open the folder. Raises OSError, also if others can change it; for root, also if they can change one above."""
    path = folder_path()
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    found = os.fstat(descriptor)
    if not _is_own(found) or (os.geteuid() == 0 and not _above_are_of_root(path)):
        os.close(descriptor)
        raise PermissionError(path)
    return descriptor


def _is_own(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE


def _above_are_of_root(path: str) -> bool:
    above = os.path.dirname(os.path.realpath(path))
    while True:
        found = os.stat(above)
        if found.st_uid != 0 or (found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX):
            return False
        if above == "/":
            return True
        above = os.path.dirname(above)
