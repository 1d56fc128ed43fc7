"""Channel: the runner's end of its stream. Two threads own the stream, so tasks and threads may both send requests."""

from __future__ import annotations

import os
import queue
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final

from asyncstate.errors import Issue, PillarError
from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.ssh import frames

if TYPE_CHECKING:
    from collections.abc import Callable

_GONE: Final = "the connection to the operator has ended"


class Channel:
    """Frames over two descriptors. ``on_end`` is called once, in a thread, when the other side is gone or says goodbye.

    One thread reads and another one writes, as the event loop itself may wait for an answer.
    """

    def __init__(self, reading: int, writing: int, on_end: Callable[[], None]) -> None:
        self._reading = reading
        self._writing = writing
        self._on_end = on_end
        self._lock = threading.Lock()
        self._last = 0
        self._waiting: dict[int, Future[Any]] = {}
        self._takers: dict[int, Callable[[Any], None]] = {}
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._ended = False
        self.said_bye: bool = False
        """Whether the other side has said that the run is over."""
        self._heard = time.monotonic()

    def start(self) -> frames.Begin:
        """Return the operator's first frame, and begin to read and write. Raises BoardError."""
        first = self._read()
        if first is None or first.word != frames.BEGIN:
            raise BoardError("the operator's program did not begin")
        begin = frames.value_of(first.value, frames.Begin)
        for task in (self._read_all, self._write_all, self._watch_silence):
            threading.Thread(target=task, name=f"asyncstate-ssh{task.__name__}", daemon=True).start()
        return begin

    def ask(self, word: str, *value: Any) -> Future[Any]:
        """Send a request, and return the future of the answer. It raises BoardError or PillarError."""
        future: Future[Any] = Future()
        with self._lock:
            if self._ended:
                raise BoardError(_GONE)
            self._last += 1
            self._waiting[self._last] = future
            number = self._last
        self._send(number, word, value)
        return future

    def subscribe(self, word: str, *value: Any, taker: Callable[[Any], None]) -> int:
        """Call ``taker`` with each answer, in a thread; the last is a BoardError. Returns the number for `close`."""
        with self._lock:
            if self._ended:
                raise BoardError(_GONE)
            self._last += 1
            self._takers[self._last] = taker
            number = self._last
        self._send(number, word, value)
        return number

    def close(self, number: int) -> None:
        """End a subscription."""
        with self._lock:
            known = self._takers.pop(number, None) is not None and not self._ended
        if known:
            self._send(number, frames.CLOSE, ())

    def _send(self, number: int, word: str, value: Any) -> None:
        try:
            self._outbox.put(frames.encode(number, word, value))
        except BoardError:
            with self._lock:
                self._waiting.pop(number, None)
                self._takers.pop(number, None)
            raise

    # threads

    def _write_all(self) -> None:
        while True:
            try:
                data = self._outbox.get(timeout=frames.PING_EVERY)
            except queue.Empty:
                data = frames.encode(0, frames.PING)
            if data is None:
                return
            view = memoryview(data)
            try:
                while view:
                    view = view[os.write(self._writing, view) :]
            except OSError:
                self._end(_GONE)
                return

    def _read_all(self) -> None:
        try:
            while (frame := self._read()) is not None:
                self._heard = time.monotonic()
                if frame.word == frames.BYE:
                    self.said_bye = True
                    break
                self._take(frame)
        except (BoardError, OSError) as error:
            self._end(str(error))
        else:
            self._end(_GONE)

    def _watch_silence(self) -> None:
        while not self._ended:
            time.sleep(frames.PING_EVERY)
            if time.monotonic() - self._heard > frames.SILENCE:
                self._end(f"the operator's program was silent for {frames.SILENCE:.0f} s")

    def _read(self) -> frames.Frame | None:
        head = self._bytes(frames.HEAD)
        return None if head is None else frames.decode(self._bytes(frames.length(head)) or b"")

    def _bytes(self, size: int) -> bytes | None:
        """Return ``size`` bytes, None at the end of the stream."""
        parts: list[bytes] = []
        while size:
            part = os.read(self._reading, min(size, frames.CHUNK))
            if not part:
                return None
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _take(self, frame: frames.Frame) -> None:
        with self._lock:
            future = self._waiting.pop(frame.number, None)
            taker = self._takers.get(frame.number)
        if frame.word == frames.ERROR:
            error = _error(frame.value)
            if future is not None:
                _settle(future, error)
            if taker is not None:
                taker(error)
        elif future is not None:
            if future.set_running_or_notify_cancel():
                future.set_result(frame.value)
        elif taker is not None:
            taker(frame.value)

    def _end(self, why: str) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
            waiting, self._waiting = list(self._waiting.values()), {}
            takers, self._takers = list(self._takers.values()), {}
        error = BoardError(why)
        for future in waiting:
            _settle(future, error)
        for taker in takers:
            taker(error)
        self._outbox.put(None)
        self._on_end()


def _settle(future: Future[Any], error: Exception) -> None:
    if future.set_running_or_notify_cancel():
        future.set_exception(error)


def _error(value: Any) -> BoardError | PillarError:
    try:
        trouble = frames.value_of(value, frames.Trouble)
    except BoardError as error:
        return error
    if trouble.issues:
        return PillarError([Issue(*each) for each in trouble.issues])
    return BoardError(trouble.text)
