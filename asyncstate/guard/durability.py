"""Durability: new files are synced to disk once, at the end of the run, not one by one.

Syncing ten thousand new files one by one takes longer than writing them; one sync of their file systems takes about a
tenth of a second. Until then a power cut may leave a new file empty; the next run finds that and writes it again.
Replaced files are already on disk: each was synced before it was renamed.
"""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING

from asyncstate.filesystem.replacement import FEW
from asyncstate.logs import get_logger

if TYPE_CHECKING:
    import logging
    from collections.abc import Mapping

log: logging.Logger = get_logger(__name__)

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


def sync(written: Mapping[int, list[str]]) -> None:
    """Wait until the new files of a run, by device, are on disk."""
    for device, paths in written.items():
        if len(paths) > FEW:
            _sync_all(paths, device)
            continue
        for path in paths:
            try:
                _sync_one(path)
            except OSError as error:
                # The file was removed or moved: there is nothing to sync.
                log.debug("%s was not synced: %s", path, error)


def _sync_one(path: str) -> None:
    descriptor = os.open(path, _FLAGS | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_all(paths: list[str], device: int) -> None:
    """Sync the file system of these files through a folder that is still there; without one, all file systems."""
    for folder in dict.fromkeys(os.path.dirname(path) for path in reversed(paths)):
        try:
            descriptor = os.open(folder, _FLAGS)
        except OSError:
            continue
        try:
            if os.fstat(descriptor).st_dev == device and _sync_file_system(descriptor):
                return
        finally:
            os.close(descriptor)
    os.sync()


def _sync_file_system(descriptor: int) -> bool:
    """Sync the file system of an open file; return False if that fails or the system has no such call."""
    call = getattr(ctypes.CDLL(None), "syncfs", None)
    return call is not None and call(descriptor) == 0
