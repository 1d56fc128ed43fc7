"""Files in users' folders, read and written by root without being led elsewhere.

Whoever owns a folder can plant a link in it, or a second name of a file of root's. A link is followed only by the rule
of `file.atomic`; a file with several names is read only if it is the user's own.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from asyncstate.errors import CommandExecutionError

from .file import atomic

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_FOLDER_MODE = 0o700
_FILE_MODE = 0o600


def read(path: str, user: Mapping[str, Any] | None) -> str | None:
    """Return the text of a file, None if there is none.

    ``user`` is what ``user.info`` says of the one whose folder it is in, None for a file of the system.
    CommandExecutionError for what is no plain file, or not his to show.
    """
    path = atomic.edit_target(path)
    try:
        folder = atomic.open_directory(os.path.dirname(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(os.path.basename(path), flags, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CommandExecutionError(f"Cannot read {path}: {error.strerror}") from error
    finally:
        os.close(folder)
    problem = _problem(os.fstat(descriptor), user)
    if problem:
        os.close(descriptor)
        raise CommandExecutionError(f"Refusing to read {path}: it is {problem}")
    with open(descriptor, encoding="utf-8", errors="surrogateescape", newline="") as file:
        return file.read()


def _problem(found: os.stat_result, user: Mapping[str, Any] | None) -> str:
    if not stat.S_ISREG(found.st_mode):
        return "no regular file"
    if user is not None and found.st_nlink > 1 and found.st_uid != user["uid"]:
        return f"a second name of a file of user {found.st_uid}"
    return ""


def write(path: str, text: str, user: Mapping[str, Any] | None) -> None:
    """Replace a file in one step. Owner and mode are kept; a new one is the user's, and his alone.

    Missing folders are made, the last of them for the user alone. CommandExecutionError if it cannot be done.
    """
    path = atomic.edit_target(path)
    try:
        _make_folder(os.path.dirname(path), user)
        access = atomic.KEEP if os.path.lexists(path) else atomic.Access(*_owner(user), _FILE_MODE)
        atomic.replace_content(path, text.encode("utf-8", "surrogateescape"), access=access)
    except OSError as error:
        raise CommandExecutionError(f"Cannot write {path}: {error.strerror}") from error


def _make_folder(path: str, user: Mapping[str, Any] | None) -> None:
    """Make ``path`` and what is missing above it, each step from a folder that is held open."""
    missing: list[str] = []
    while not os.path.isdir(path):
        path, name = os.path.split(path)
        missing.append(name)
    folder = atomic.open_directory(path)
    try:
        while missing:
            name = missing.pop()
            is_last = not missing and user is not None
            os.mkdir(name, _FOLDER_MODE if is_last else 0o777, dir_fd=folder)
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            os.close(folder)
            folder = inner
            if is_last:
                os.fchown(folder, *_owner(user))
                os.fchmod(folder, _FOLDER_MODE)
    finally:
        os.close(folder)


def _owner(user: Mapping[str, Any] | None) -> tuple[int, int]:
    return (user["uid"], user["gid"]) if user is not None and os.geteuid() == 0 else (-1, -1)
