"""Processes that keep a mount busy, by the IDs of mounts in ``/proc``."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from asyncstate.process.lineage import pids

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOUNT_ID = re.compile(rb"^mnt_id:\s*(\d+)", re.MULTILINE)


def user_of(mount: int) -> int | None:
    """Return a process that has a folder, its program or an open file in the mount of this ID; None if none is seen.

    Shared libraries of a process, and uses by the kernel itself, are not seen.
    """
    return next((pid for pid in pids() if mount in _mounts_of(pid)), None)


def _mounts_of(pid: int) -> Iterator[int]:
    """Yield the IDs of the mounts that a process has its folders, its program and its open files in."""
    for name in ("cwd", "root", "exe"):
        with suppress(OSError):
            descriptor = os.open(f"/proc/{pid}/{name}", os.O_PATH | os.O_CLOEXEC)
            try:
                yield from _mount_of(f"/proc/self/fdinfo/{descriptor}")
            finally:
                os.close(descriptor)
    if pid == os.getpid():
        return  # among its open files are those of this look
    with suppress(OSError):
        for file in os.listdir(f"/proc/{pid}/fdinfo"):
            yield from _mount_of(f"/proc/{pid}/fdinfo/{file}")


def _mount_of(about: str) -> Iterator[int]:
    with suppress(OSError), open(about, "rb") as file:
        found = _MOUNT_ID.search(file.read())
        if found:
            yield int(found[1])
