"""Backups of files before a change (``backup: minion``): making, listing, restoring and deleting them."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import __opts__
from asyncstate.errors import CommandExecutionError

from .paths import expand

if TYPE_CHECKING:
    from collections.abc import Iterator

_STAMP = "_%a_%b_%d_%H:%M:%S_%f_%Y"
_SHOWN = "%a %b %d %Y %H:%M:%S.%f"


def backup_mode(backup: str | bool | None) -> str:
    """Return the backup mode of a state: its argument, else the option ``backup_mode``."""
    return str(backup or __opts__.get("backup_mode") or "")


def backup_root() -> str:
    """Return the directory that contains all backups."""
    cache = __opts__.get("cachedir")
    if not cache:
        raise CommandExecutionError("A backup needs the option cachedir")
    return os.path.join(cache, "file_backup")


def backup_minion(path: str) -> None:
    """Copy a file, with owner and mode, below ``cachedir/file_backup``, under its own path and a time stamp."""
    now = time.time()
    stamp = time.strftime("%a_%b_%d_%H:%M:%S", time.localtime(now))
    year = time.strftime("%Y", time.localtime(now))
    folder = os.path.join(backup_root(), os.path.dirname(os.path.abspath(path)).lstrip("/"))
    filesystem.makedirs(folder, 0o700)
    target = os.path.join(folder, f"{os.path.basename(path)}_{stamp}_{int(now % 1 * 1e6):06d}_{year}")
    filesystem.copy_file(path, target)


def backup_if_asked(path: str, backup: str | bool | None) -> None:
    """Make a backup of an existing file if the state or the configuration wants one."""
    if backup_mode(backup) in {"minion", "both"} and filesystem.exists(path):
        backup_minion(path)


@contextmanager
def copied_beside(path: str, backup: object) -> Iterator[None]:
    """Copy a file to ``path`` + ``backup``, with its owner, mode and times, before it is edited in the block.

    A new copy is removed again if the file is not edited. Without ``backup`` there is none.
    """
    copy = f"{path}{backup}" if backup else ""
    is_new = bool(copy) and not filesystem.lexists(copy)
    if copy:
        filesystem.copy_file(path, copy, keep_times=True)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):
                filesystem.remove(copy)
        raise


def list_backups(path: str, limit: int | None = None) -> dict[int, dict[str, Any]]:
    """Return the backups of a file, newest first, numbered from 0: ``Backup Time``, ``Size``, ``Location``."""
    path = expand(path)
    folder, name = os.path.split(path)
    stored = os.path.join(backup_root(), folder.lstrip("/"))
    return _numbered(_stamped(stored, name), limit)


def list_backups_dir(path: str, limit: int | None = None) -> dict[str, dict[int, dict[str, Any]]]:
    """Return the backups of every file in a directory (end it with a slash), by file name."""
    stored = os.path.join(backup_root(), os.path.dirname(expand(path)).lstrip("/"))
    if not filesystem.is_directory(stored):
        return {}
    names = {name.split("_")[0] for name in filesystem.listdir(stored)}
    return {name: _numbered(_stamped(stored, name), limit) for name in sorted(names)}


def _stamped(folder: str, name: str) -> dict[datetime, str]:
    found: dict[datetime, str] = {}
    for entry in filesystem.listdir(folder) if filesystem.is_directory(folder) else ():
        location = os.path.join(folder, entry)
        if entry.startswith(f"{name}_") and filesystem.is_file(location):
            try:
                # the time stamps in the names are local time
                found[datetime.strptime(entry[len(name) :], _STAMP)] = location  # noqa: DTZ007
            except ValueError:
                continue  # a backup of a file with a longer name
    return found


def _numbered(found: dict[datetime, str], limit: int | None) -> dict[int, dict[str, Any]]:
    newest = sorted(found, reverse=True)[: None if limit is None else int(limit)]
    return {
        number: {
            "Backup Time": moment.strftime(_SHOWN),
            "Size": filesystem.stat(found[moment]).st_size,
            "Location": found[moment],
        }
        for number, moment in enumerate(newest)
    }


def restore_backup(path: str, backup_id: int | str) -> dict[str, Any]:
    """Restore a backup, after a backup of the present file. Returns ``result`` and ``comment``."""
    path = expand(path)
    chosen = _chosen(path, backup_id)
    if isinstance(chosen, str):
        return {"result": False, "comment": chosen}
    location = chosen["Location"]
    try:
        if filesystem.exists(path):
            backup_minion(path)
        filesystem.replace_content(path, None, location)
    except OSError as error:
        return {"result": False, "comment": f"Unable to restore {location} to {path}: {error}"}
    return {"result": True, "comment": f"Successfully restored {location} to {path}"}


def delete_backup(path: str, backup_id: int | str) -> dict[str, Any]:
    """Remove one backup of a file. Returns ``result`` and ``comment``."""
    chosen = _chosen(expand(path), backup_id)
    if isinstance(chosen, str):
        return {"result": False, "comment": chosen}
    location = chosen["Location"]
    try:
        filesystem.remove(location)
    except OSError as error:
        return {"result": False, "comment": f"Unable to remove {location}: {error}"}
    return {"result": True, "comment": f"Successfully removed {location}"}


def _chosen(path: str, backup_id: int | str) -> dict[str, Any] | str:
    """Return the backup with this number, or an error message if there is none."""
    if not str(backup_id).isdecimal():
        return f"Invalid backup_id '{backup_id}'"
    found = list_backups(path).get(int(backup_id))
    return found if found is not None else f"backup_id '{backup_id}' does not exist for {path}"
