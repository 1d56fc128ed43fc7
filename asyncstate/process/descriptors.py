"""Room for descriptors and processes: what this process may not have at once waits, in place of failing.

`places` says how many states may run at once. A `Room` lets a program start when there are descriptors for its pipes,
and starts it again where the system refused for want of descriptors, processes or memory while other programs of ours
run: each that ends makes room.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from asyncstate.dunders.cancel import CancelToken

T = TypeVar("T")

OF_A_STATE = 2
"""Descriptors of a state that runs a program where there are few: the pipes of its output."""
WATCHED = 3
"""Descriptors of a state that runs a program where there is room: one more tells of the end of the program."""
TO_START = 8
"""Descriptors that starting a program takes for a moment: both ends of three pipes, and of one for its errors."""
RESERVE = 12
"""Descriptors kept free for what is opened for a moment: files, imports, sockets, the journal."""
LEAST = 32
"""Descriptors that a run of the command line needs, with one state at a time."""
_AMPLE = 128
"""With so many descriptors beside those of our programs, nobody counts."""
_REFUSALS = frozenset({errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM})
_LOOK = 0.2
_PATIENCE = 5.0
"""Seconds for which a refused program is started again while no other program of ours runs."""


def limit() -> int:
    """Return how many descriptors this process may have; a huge number where there is no limit."""
    try:
        import resource  # noqa: PLC0415 - not every system has it
    except ImportError:
        return 1 << 30
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 30 if soft == resource.RLIM_INFINITY else soft


def places(wanted: int) -> int:
    """Return how many states may run at once, of those ``wanted``, with the descriptors that are left; at least one."""
    most = limit()
    if wanted * WATCHED + _AMPLE <= most:
        return wanted
    return max(1, min(wanted, (most - _open(0) - RESERVE) // OF_A_STATE))


def why_few() -> str:
    """Return why there are fewer places than wanted, and what to do."""
    return f"this process may have {limit()} open files (raise it with ulimit -n, or LimitNOFILE of a service)"


def too_few() -> str:
    """Return why this process cannot run a single state, and what to do; empty if it can."""
    most = limit()
    if most >= LEAST:
        return ""
    return (
        f"this process may have {most} open files, and a run needs {LEAST} "
        "(raise it with ulimit -n, or LimitNOFILE of a service)"
    )


def _open(running: int) -> int:
    """Return how many descriptors are open. Raises OSError for want of one more."""
    try:
        return len(os.listdir("/proc/self/fd"))
    except FileNotFoundError:  # no /proc: our programs, and what most processes have
        return running * OF_A_STATE + RESERVE


class Room:
    """The programs of this process that run, and those that wait for their turn to start."""

    def __init__(self, limit: Callable[[], int] = limit) -> None:
        self._limit = limit
        self._news = threading.Condition()
        self._running = 0
        self._starting = 0

    @contextmanager
    def place(self, cancel: CancelToken | None) -> Iterator[Place]:
        """Wait for a place, and hold it in the block. Raises RunCancelled if the call is cancelled meanwhile."""
        with self._news:
            while not self._fits():
                self._wait(cancel)
            self._running += 1
            self._starting += 1
        place = Place(self, cancel)
        try:
            yield place
        finally:
            with self._news:
                self._running -= 1
                self._starting -= not place.started
                self._news.notify_all()

    @property
    def ample(self) -> bool:
        """Whether the programs that run may have a descriptor more than they need."""
        return self._running * WATCHED + _AMPLE <= self._limit()

    def started(self) -> None:
        """Note that a program has its descriptors, so those of its start are free again."""
        with self._news:
            self._starting -= 1
            self._news.notify_all()

    def wait_for_end(self, cancel: CancelToken | None) -> bool:
        """Wait until a program may have ended; return whether another one runs."""
        with self._news:
            self._wait(cancel)
            return self._running > 1

    def _wait(self, cancel: CancelToken | None) -> None:
        self._news.wait(_LOOK)
        if cancel is not None:
            cancel.check()

    def _fits(self) -> bool:
        most = self._limit()
        if not self._running or (self._running + 1) * TO_START + _AMPLE <= most:
            return True
        try:
            return _open(self._running) + (self._starting + 1) * TO_START + RESERVE <= most
        except OSError:
            return False


class Place:
    """One program's place. ``started`` is true once it has started; ``ample``: it may have descriptors to spare."""

    def __init__(self, room: Room, cancel: CancelToken | None) -> None:
        self._room = room
        self._cancel = cancel
        self.started: bool = False
        self.ample: bool = room.ample

    def start(self, start: Callable[[], T]) -> T:
        """Return what ``start`` returns. Where the system refuses for want of something, call it again later.

        Raises OSError, as ``start`` does: at once for any other reason, and in the end if nothing of ours makes room.
        """
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                result = start()
            except OSError as error:
                if error.errno not in _REFUSALS:
                    raise
                if not self._room.wait_for_end(self._cancel) and time.monotonic() >= until:
                    raise
            else:
                self.started = True
                self._room.started()
                return result


room: Room = Room()
"""The room of this process."""
