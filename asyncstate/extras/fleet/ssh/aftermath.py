"""Clean-up on a host after a runner was killed: only the host knows the runner's remains.

The loader, which waits for the runner, calls `clear` before it removes the runner's folder.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from asyncstate import filesystem
from asyncstate.guard.lock import end_residue

_LOCK_DIR: Final = "lock_dir"


def note_lock_dir(folder: str, lock_dir: str) -> None:
    """Note the folder of the runs' lock in the runner's folder."""
    with filesystem.Replacement(os.path.join(folder, _LOCK_DIR), 0o600, is_temporary=False) as new:
        new.write(os.fsencode(lock_dir))
        new.commit(sync=False)


def clear(folder: str) -> None:
    """End programs that a killed runner left running, and remove its temporary files and its notes beside the lock."""
    lock_dir = ""
    with (
        suppress(FileNotFoundError),  # the runner was killed before it noted the folder
        filesystem.open_read(os.path.join(folder, _LOCK_DIR)) as file,
    ):
        lock_dir = os.fsdecode(file.read())
    end_residue(folder, lock_dir)
