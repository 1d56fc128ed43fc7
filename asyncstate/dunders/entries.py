"""Changing single entries of a file while other states of the run may change others.

This uses asyncio to see whether a loop runs, because a call on the event loop must not wait for a lock.
"""

from __future__ import annotations

import math
import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from asyncstate.data.entries import Additions
from asyncstate.dunders.context import check_cancelled, current
from asyncstate.errors import LoaderError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

_LOOK_AROUND = 0.1
"""Seconds between two checks whether a call that waits for a file was cancelled."""


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
