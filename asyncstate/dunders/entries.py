"""Entries of a file that several states edit: their names as resources, their places, and one edit at a time.

States that touch different entries of a file run in any order. The file still gets the bytes of a serial run: changes
keep the place of an entry, and new entries, which go to the end, are in the serial order of the states that add
them.

`editing` uses asyncio to see whether a loop runs, because a call on the event loop must not wait for a lock.
"""

from __future__ import annotations

import math
import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from asyncstate.dunders.context import Additions, check_cancelled, current
from asyncstate.errors import LoaderError
from asyncstate.pattern import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

FOUND_BY_POINT: Final = frozenset({
    "none", "tmpfs", "sysfs", "proc", "fusectl", "debugfs", "securityfs", "devtmpfs", "cgroup",
    "nfs", "nfs4", "glusterfs", "btrfs", "ceph",
})  # fmt: skip
"""Types of file systems whose entry in fstab is identified by the mount point, as several mounts may share a device."""
_QUOTED = lazy_pattern(r"[\x00-\x1f%/#*]|^\.\.?$")
_LOOK_AROUND = 0.1
"""Seconds between two checks whether a call that waits for a file was cancelled."""


def entry_of(whole: str, *key: object) -> str:
    """Return the resource name of an entry, for a footprint: ``entry_of("path:/etc/hosts", "web")``.

    ``whole`` is the name of the file, or a plain name. Each further part of ``key`` is an entry within the one before.
    Parts may be any text; special characters of resource names are percent-encoded.
    """
    return f"{whole}#{'/'.join(map(_quoted, map(str, key)))}"


def _quoted(part: str) -> str:
    return _QUOTED.sub(lambda found: "".join(f"%{ord(each):02X}" for each in found[0]), part) or "%"


class _Lock:
    """A lock that can be forgotten when no thread holds it or waits for it."""

    def __init__(self) -> None:
        self.turn = threading.RLock()


_locks: WeakValueDictionary[str, _Lock] = WeakValueDictionary()
_looking = threading.Lock()


class Editing:
    """One state's turn to change a file, from `editing`."""

    def __init__(self, additions: Additions, rank: float) -> None:
        self._additions = additions
        self._rank = rank

    def place(self, entries: Iterable[Hashable], key: Hashable) -> int:
        """Return the index at which to insert the new entry ``key``; the caller must insert it.

        ``entries`` are the keys of the file's present entries, in its order, with None for other lines. The index is
        the end, or the index of the first entry added by a state that is later in the serial order.
        """
        return self._additions.place(entries, key, self._rank)


@contextmanager
def editing(file: str) -> Iterator[Editing]:
    """Lock a file, so that no other call of this process changes it between reading and writing it.

    ``file`` is a path, or a name for data kept elsewhere, such as ``cron:root``. A waiting call may be cancelled:
    RunCancelled. Use it in plain functions, which run in threads: LoaderError on the event loop.
    """
    from asyncio import _get_running_loop  # noqa: PLC0415 - completion needs rows, not asyncio

    if _get_running_loop() is not None:
        raise LoaderError(f"editing({file!r}) would stop the event loop: do it in a plain function, and await that")
    name = os.path.realpath(file) if file.startswith("/") else file
    with _looking:
        lock = _locks.setdefault(name, _Lock())
    while not lock.turn.acquire(timeout=_LOOK_AROUND):
        check_cancelled()
    try:
        call = current.get(None)
        if call is None or call.rank is None:
            yield Editing(Additions(), math.inf)
        else:
            yield Editing(call.additions.setdefault(name, Additions()), call.rank)
    finally:
        lock.turn.release()
