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


def sync(written: Mapping[int, list[str]]) -> None:
    """Wait until the new files of a run, by device, are on disk."""
    for device, paths in written.items():
        few = len(paths) <= FEW
        for path in paths if few else paths[-1:]:
            try:
                _sync_one(path, device, whole=not few)
            except OSError as error:
                # The file was removed or moved: there is nothing to sync.
                log.debug("%s was not synced: %s", path, error)


def _sync_one(path: str, device: int, *, whole: bool) -> None:
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(os.path.dirname(path), flags) if whole else os.open(path, flags | os.O_NOFOLLOW)
    try:
        if not whole:
            os.fsync(descriptor)
        elif os.fstat(descriptor).st_dev != device or not _sync_file_system(descriptor):
            os.sync()
    finally:
        os.close(descriptor)


def _sync_file_system(descriptor: int) -> bool:
    """Sync the file system of an open file; return False if that fails or the system has no such call."""
    call = getattr(ctypes.CDLL(None), "syncfs", None)
    return call is not None and call(descriptor) == 0
