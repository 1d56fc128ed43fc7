"""Delivers all of what is written to a stream that other programs share, and whose reader may be slow.

The descriptor of a terminal or a pipe is non-blocking if any program that shares it made it so. Where it takes nothing
at the moment, `deliver` waits until it does; a `Delivery` lets a thread wait, so that a run never does.
"""

from __future__ import annotations

import errno
import io
import os
import select
import stat
import threading
from collections import deque
from typing import BinaryIO

from asyncstate.process.descriptors import Thread

_PIECE = 1 << 16
_LINGER = 1.0
"""Seconds for which the thread of a delivery waits for more."""


def deliver(stream: BinaryIO, data: bytes | memoryview) -> None:
    """Write all of ``data``, and wait where that takes time. Raises OSError; ValueError if the stream is closed."""
    try:
        descriptor = stream.fileno()
    except io.UnsupportedOperation:  # a stream in memory
        stream.write(data)
        stream.flush()
        return
    stream.flush()
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            _has_room(descriptor, None)


def _has_room(descriptor: int, milliseconds: int | None) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(milliseconds))


class Delivery:
    """Delivers in order what is written to it; nobody who writes waits for the reader.

    What cannot be delivered at once waits in memory, up to ``most`` bytes, and goes out in a thread. What is written
    beyond that is dropped. ``error`` is why nothing is delivered any more.
    """

    def __init__(self, stream: BinaryIO, most: int | None = None) -> None:
        self.error: OSError | None = None
        self._stream = stream
        self._most = most
        self._news = threading.Condition(threading.RLock())
        self._waiting: deque[bytes] = deque()
        self._size = self._taken = 0
        self._in_vain = -1
        self._is_writing = False
        self._is_attended = False
        self._process = os.getpid()
        self._descriptor, self._sure = _at_once(stream)

    def write(self, data: bytes) -> None:
        """Deliver ``data`` now or later. Never raises for the stream: see ``error``."""
        if self._process != os.getpid():  # a fork has no thread, and another one may have held the lock
            self._deliver(data)
            return
        with self._news:
            if self.error is not None:
                return
            if self._waiting or self._is_writing or (self._may_wait(len(data)) and self._attended()):
                self._add(data)
            else:
                self._deliver(data)

    def settle(self, seconds: float | None = None) -> bool:
        """Wait until all is delivered or cannot be, or until nothing was taken for ``seconds``: then return False.

        A reader for whom this has waited in vain is not waited for again before he takes something.
        """
        if self._process != os.getpid():  # as in `write`; nothing of what a fork writes waits
            return True
        with self._news:
            while self._is_busy():
                before = self._taken
                if seconds is not None and before == self._in_vain:
                    return False
                if not self._news.wait_for(lambda: self._taken != before or not self._is_busy(), seconds):  # noqa: B023
                    self._in_vain = before
                    return False
            return True

    def give_up(self) -> None:
        """Deliver nothing any more, as if the reader had gone. Safe in a signal handler."""
        self._fail(BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)))
        with self._news:
            self._news.notify_all()

    def _is_busy(self) -> bool:
        return self.error is None and (bool(self._waiting) or self._is_writing)

    def _may_wait(self, size: int) -> bool:
        """Whether writing so much now could take long."""
        if size <= self._sure:
            return self._descriptor >= 0 and not _has_room(self._descriptor, 0)
        return True

    def _add(self, data: bytes) -> None:
        if self._most is None or self._size + len(data) <= self._most:
            self._waiting.append(data)
            self._size += len(data)
            self._news.notify_all()

    def _attended(self) -> bool:
        """Start the thread, if it does not run; return whether it runs."""
        if not self._is_attended:
            try:
                Thread(target=self._work, name="asyncstate-output", daemon=True).start()
            except RuntimeError:
                return False
            self._is_attended = True
        return True

    def _work(self) -> None:
        """Deliver what waits, until nothing more comes."""
        try:
            while (data := self._next()) is not None:
                self._deliver(data)
        except MemoryError as error:
            self._fail(error)
            with self._news:
                self._is_writing = self._is_attended = False
                self._news.notify_all()

    def _next(self) -> bytes | None:
        """Return what is to be delivered next; None, which ends the thread, if there is nothing for a while."""
        with self._news:
            self._is_writing = False
            self._news.notify_all()
            if not self._waiting and not self._news.wait_for(lambda: self._waiting, _LINGER):
                self._is_attended = False
                return None
            data = self._waiting.popleft()
            self._size -= len(data)
            self._is_writing = True
            return data

    def _deliver(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                deliver(self._stream, rest[:_PIECE])
                rest = rest[_PIECE:]
                self._taken += 1
        except (OSError, ValueError, MemoryError) as error:
            self._fail(error)

    def _fail(self, error: OSError | ValueError | MemoryError) -> None:
        """Deliver nothing any more: what waits is dropped, so that nobody waits for it."""
        if isinstance(error, MemoryError):
            error = OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
        elif isinstance(error, ValueError):
            error = OSError(errno.EBADF, "it is closed")
        self.error = error
        if self._process == os.getpid():
            with self._news:
                self._waiting.clear()
                self._size = 0


def _at_once(stream: BinaryIO) -> tuple[int, int]:
    """Return what to ask for room, -1 if a write never waits, and how many bytes it takes if it has room."""
    try:
        descriptor = stream.fileno()
        kind = os.fstat(descriptor).st_mode
    except OSError:
        return -1, 1 << 62
    if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
        return descriptor, select.PIPE_BUF
    return (descriptor, 0) if os.isatty(descriptor) else (-1, 1 << 62)
