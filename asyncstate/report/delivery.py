"""Complete delivery to a stream that other programs share, and whose reader may be slow.

The descriptor of a terminal or a pipe is non-blocking if any program that shares it made it so. If the stream is full,
`deliver` blocks; a `Delivery` blocks a thread, so that a run never does.
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
"""Seconds until the idle thread of a delivery ends."""


def deliver(stream: BinaryIO, data: bytes | memoryview) -> None:
    """Write all of ``data``, blocking if necessary. Raises OSError; ValueError if the stream is closed."""
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
    """Delivers writes in order without blocking the writer.

    Data that the stream does not take at once is buffered, up to ``most`` bytes, and written by a thread. Data beyond
    that is dropped. ``error`` is the reason why delivery has ended, or None.
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
        """Deliver ``data`` now or later. Errors of the stream are not raised: see ``error``."""
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
        """Wait for the delivery of all data, or its failure; return False if the stream takes nothing for ``seconds``.

        After such a timeout, later calls return at once until the reader takes something.
        """
        if self._process != os.getpid():  # as in `write`; a fork buffers nothing
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
        """End the delivery, as if the reader had gone. Safe in a signal handler."""
        self._fail(BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)))
        with self._news:
            self._news.notify_all()

    def _is_busy(self) -> bool:
        return self.error is None and (bool(self._waiting) or self._is_writing)

    def _may_wait(self, size: int) -> bool:
        """Whether writing ``size`` bytes now could block."""
        if size <= self._sure:
            return self._descriptor >= 0 and not _has_room(self._descriptor, 0)
        return True

    def _add(self, data: bytes) -> None:
        if self._most is None or self._size + len(data) <= self._most:
            self._waiting.append(data)
            self._size += len(data)
            self._news.notify_all()

    def _attended(self) -> bool:
        """Start the thread unless it runs; return whether it runs."""
        if not self._is_attended:
            try:
                Thread(target=self._work, name="asyncstate-output", daemon=True).start()
            except RuntimeError:
                return False
            self._is_attended = True
        return True

    def _work(self) -> None:
        """Deliver the buffered data until no more comes."""
        try:
            while (data := self._next()) is not None:
                self._deliver(data)
        except MemoryError as error:
            self._fail(error)
            with self._news:
                self._is_writing = self._is_attended = False
                self._news.notify_all()

    def _next(self) -> bytes | None:
        """Return the next data to deliver; None, which ends the thread, if there is none for a while."""
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
        """End the delivery and drop the buffered data, so that `settle` returns."""
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
    """Return the descriptor to poll, -1 if writes never block, and the bytes it takes without blocking when ready."""
    try:
        descriptor = stream.fileno()
        kind = os.fstat(descriptor).st_mode
    except OSError:
        return -1, 1 << 62
    if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
        return descriptor, select.PIPE_BUF
    return (descriptor, 0) if os.isatty(descriptor) else (-1, 1 << 62)
