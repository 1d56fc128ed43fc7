"""One worker, from this side: a process of Salt's interpreter that calls Salt's functions."""

from __future__ import annotations

import errno
import math
import os
import select
import signal
import subprocess
import threading
import time
from collections import deque
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from asyncstate.dunders.context import current
from asyncstate.errors import AsyncStateError
from asyncstate.extras.borrow import wire
from asyncstate.extras.borrow.failure import require_answer
from asyncstate.logs import get_logger
from asyncstate.process.descriptors import Thread, room
from asyncstate.process.lineage import start

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.extras.borrow.finding import SaltPython

log: Final = get_logger(__name__)

_PIECE = 1 << 16
_TICK = 1.0
"""Seconds between two checks for the end of a worker."""
_LAST_WORDS = 3
_LONGEST_LINE = 4000
_RECORD = "\x01"
"""The beginning of a log record of Salt. Alone, at the end of a line, it ends the output of a call."""
_END = 2.0
"""Seconds that an idle worker has to end by itself."""


class WorkerEnded(AsyncStateError):
    """A worker ended before it answered: the text has its end, and the last lines it wrote to standard error."""


class WorkerProcess:
    """A worker that was started. One call at a time uses it; `kill` may be called from any thread.

    ``generation`` is the number of its present options, 0 before it has any.
    """

    def __init__(self, python: SaltPython) -> None:
        """Start the worker. Raises OSError."""
        call = current.get(None)
        cancel = call.cancel if call is not None else None
        pipe = subprocess.PIPE
        begin = partial(start, python.argv, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe)
        with room.place(cancel) as place:
            self._process, _ = place.start(begin)
        self.generation: int = 0
        self.modules: set[str] = set()
        self._reader = wire.Reader()
        self._lock = threading.Lock()
        self._reaped = False
        self._last = deque[str](maxlen=_LAST_WORDS)
        self._context = copy_context()
        self._quiet = threading.Event()
        self._errors = Thread(target=self._log_errors, name=f"salt-{self._process.pid}", daemon=True)
        try:
            self._errors.start()
        except RuntimeError as error:
            self.kill()
            raise OSError(errno.EAGAIN, str(error)) from error

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def request(self, frame: bytes, answer: Callable[[Any], Any], *, seconds: float | None = None) -> dict[str, Any]:
        """Send a request and return the answer; meanwhile ``answer`` replies to requests of the worker.

        Raises WorkerEnded if there is no answer: the worker ended, sent an invalid one, or was silent for
        ``seconds``. Then the worker is unusable.
        """
        self._quiet.clear()
        self._context = copy_context()  # output of the worker now belongs to the state under way
        try:
            wire.write(_descriptor(self._process.stdin), frame)
            while True:
                message = wire.decode(self._message(seconds))
                if "ask" not in message:
                    require_answer(message)
                    if self._errors.is_alive():
                        self._quiet.wait(_TICK)
                    return dict(message)
                wire.write(_descriptor(self._process.stdin), wire.encode(answer(message["ask"])))
        except (OSError, wire.BrokenFrame, TypeError, ValueError) as error:
            self.kill()
            raise WorkerEnded(f"{self._how_it_ended()} ({error})") from None

    def _message(self, seconds: float | None) -> bytearray:
        """Wait for the next message. Raises WorkerEnded."""
        descriptor = _descriptor(self._process.stdout)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        until = math.inf if seconds is None else time.monotonic() + seconds
        while True:
            message = self._reader.message()
            if message is not None:
                return message
            if poll.poll(_TICK * 1000):
                data = os.read(descriptor, _PIECE)
                if not data:
                    raise WorkerEnded(self._how_it_ended())
                self._reader.feed(data)
            elif self._has_ended():  # a program that it started still holds its side of the pipe
                raise WorkerEnded(self._how_it_ended())
            if time.monotonic() > until:
                self.kill()
                raise WorkerEnded(f"it did not answer within {seconds:g} seconds")

    def kill(self) -> None:
        """End the worker at once. The caller ends the programs that it has started."""
        with self._lock:
            if not self._reaped:
                with suppress(ProcessLookupError):
                    os.kill(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Let an idle or killed worker end, reap it, and close the pipes."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            self._process_wait(_END)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process_wait(None)
        self._errors.join(_END)

    def _process_wait(self, seconds: float | None) -> None:
        self._process.wait(seconds)
        with self._lock:
            self._reaped = True

    def _has_ended(self) -> bool:
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _how_it_ended(self) -> str:
        self._errors.join(_TICK)
        with suppress(subprocess.TimeoutExpired, ChildProcessError):
            self._process_wait(_END)
        status = self._process.returncode
        if status is None:
            self.kill()
            how = "closed its pipe"
        elif status < 0:
            how = f"was ended by signal {-status} ({_signal_name(-status)})"
        else:
            how = f"ended with status {status}"
        words = "; ".join(self._last)
        return f"it {how}" + (f", after it wrote: {words}" if words else "")

    def _log_errors(self) -> None:
        """Log the worker's standard error: log records of Salt at their level, other lines as information."""
        stream = self._process.stderr
        if stream is None:
            return
        rest = b""
        poll = select.poll()
        poll.register(stream.fileno(), select.POLLIN)
        while True:
            if not poll.poll(_TICK * 1000):
                if self._reaped:  # a service that it started still holds its side of the pipe
                    break
                continue
            data = os.read(stream.fileno(), _PIECE)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                written = line.removesuffix(_RECORD.encode())
                if written or written == line:
                    self._log_line(written.decode("utf-8", "replace")[:_LONGEST_LINE])
                if written != line:
                    self._quiet.set()
            rest = rest[-_LONGEST_LINE:]
        if rest:
            self._log_line(rest.decode("utf-8", "replace"))
        self._quiet.set()
        stream.close()

    def _log_line(self, line: str) -> None:
        level, name, text = 20, "", line
        if line.startswith(_RECORD):
            with suppress(msgspec.DecodeError, ValueError):
                level, name, text = msgspec.json.decode(line[1:], type=tuple[int, str, str])
        if not name and text.strip():
            self._last.append(text.strip())
        self._context.run(log.log, level, "%s", f"{name}: {text}" if name else text)


def _descriptor(pipe: IO[bytes] | None) -> int:
    if pipe is None or pipe.closed:
        raise OSError("its pipe is closed")
    return pipe.fileno()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "no name"
