"""Files in users' folders, read and written by root without following users' links: see `asyncstate.filesystem`."""

from __future__ import annotations

import errno
import os
from functools import partial
from typing import TYPE_CHECKING

from asyncstate import filesystem
from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_FOLDER_MODE = 0o700
_FILE_MODE = 0o600
_LIMIT = 1 << 22
"""The size in bytes of the largest file that is read: users can make huge files, and they are parsed line by line."""


def read(path: str) -> str | None:
    """Return the text of a file, None if there is none.

    CommandExecutionError if it cannot be read; PathRefused if it is no plain file, or its owner is not its folder's.
    """
    try:
        return filesystem.read_bytes(path, _LIMIT).decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise CommandExecutionError(f"Cannot read {path}: {error.strerror}") from error


def write(path: str, text: str, user: Mapping[str, Any] | None) -> None:
    """Replace a file in one step. Owner and mode are kept; a new file belongs to the user, who alone can read it.

    Missing folders are made, the last of them for the user alone. CommandExecutionError if that fails. A dry run with a
    forecast also calls this, without writing.
    """
    path = filesystem.resolved(path)
    folder = os.path.dirname(path)
    try:
        if not filesystem.room_for(path, partial(_make_folder, folder, user)):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)
        if filesystem.foretells():
            return
        access = filesystem.KEEP if filesystem.lexists(path) else filesystem.Access(*_owner(user), _FILE_MODE)
        filesystem.replace_content(path, text.encode("utf-8", "surrogateescape"), access=access)
    except OSError as error:
        raise CommandExecutionError(f"Cannot write {path}: {error.strerror}") from error


def _make_folder(path: str, user: Mapping[str, Any] | None) -> None:
    """Make ``path`` and its missing parents."""
    filesystem.makedirs(os.path.dirname(path))
    filesystem.mkdir(path, _FOLDER_MODE if user is not None else 0o777)
    if user is not None:
        filesystem.give(path, filesystem.Access(*_owner(user), _FOLDER_MODE), follow=False)


def _owner(user: Mapping[str, Any] | None) -> tuple[int, int]:
    return (user["uid"], user["gid"]) if user is not None and os.geteuid() == 0 else (-1, -1)
