"""Signals that end the program, at any time of its life, each with a message and an exit code.

No handler raises: Python calls handlers between any two steps of the code, where an exception may be swallowed, or keep
a lock from being released. A handler notes the signal, and the program acts on it at its next safe point, with
`check`. In a block of `delivered_to`, a receiver is called instead. A run handles signals itself: see
`asyncstate.cli.event_loop`. After a timeout or a second signal, `end_now` ends the program, from another thread if need
be. A signal that was ignored when the program was started (by ``nohup``, or for a background job of a shell) stays
ignored.
"""

from __future__ import annotations

import _thread
import os
import select
import signal
import socket
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from types import FrameType

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGXCPU")
"""Signals that would end the program without a message, except those that mean a crash."""
_LATEST = 5.0
"""Seconds from a signal to the next safe point, at most. Then the process ends at once."""
_INSISTING = 1.0
"""Seconds after which another signal is a second one: coreutils' ``timeout`` sends each twice."""


class Interrupted(BaseException):
    """A signal has ended the program; ``name`` is its name."""

    def __init__(self, number: int) -> None:
        self.name = signal.Signals(number).name
        super().__init__(self.name)

    @property
    def exit_code(self) -> int:
        """128 plus the number of the signal, as in shells."""
        return 128 + signal.Signals[self.name]


_receivers: list[Callable[[int], None]] = []
_last_act: Callable[[int, str], object] | None = None
"""Ends the process with an exit code and a reason, after the message of `end_now`: see `in_words`."""
_pending: list[int] = []
"""Signals that the program has not acted on."""


class _Deadline:
    """The latest time for the end of the process. There is only one, changed in the main thread only."""

    def __init__(self) -> None:
        self.number = 0
        self.since = 0.0
        self.end = 0.0
        self.age = 0
        """Changes with the deadline, so that threads of earlier deadlines do nothing."""

    def set(self, number: int, seconds: float) -> None:
        self.age += 1
        self.number, self.since = number, time.monotonic()
        self.end = self.since + seconds
        try:
            # Not a `threading.Thread`: the lock that it takes may be held by the code that the handler interrupted.
            _thread.start_new_thread(self._wait, (self.age, number, seconds))
        except (RuntimeError, MemoryError):
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def clear(self) -> None:
        if self.number:
            self.age += 1
            self.number = 0
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _wait(self, age: int, number: int, seconds: float) -> None:
        if age != self.age:  # the thread began late
            return
        # Nothing is imported here, where the import lock may be taken; a module may be half imported.
        for token in list(getattr(sys.modules.get("asyncstate.dunders.context"), "blocking", ())):
            token.cancel(signal.Signals(number).name)
        time.sleep(seconds)
        if age == self.age:
            end_now(number)


_deadline = _Deadline()


def end_within(number: int, seconds: float) -> None:
    """End the process in ``seconds``, if it has not ended by then; at once for a second signal."""
    if not _deadline.number:
        _deadline.set(number, seconds)
    elif time.monotonic() - _deadline.since >= _INSISTING:
        end_now(number)


def end_at_latest(number: int, seconds: float) -> None:
    """End the process in ``seconds``, if it has not ended by then; further signals do not change that."""
    if not _deadline.number or time.monotonic() + seconds < _deadline.end:
        _deadline.set(number, seconds)


def ended_in_time() -> None:
    """Take back `end_within` and `end_at_latest`."""
    _deadline.clear()


def is_signalled() -> bool:
    """Whether a signal has cancelled the running code."""
    return bool(_deadline.number)


def end_now(number: int) -> None:
    """End the process and its children at once, with a message: takes no lock, does not block."""
    number = _deadline.number or number
    name = signal.Signals(number).name
    try:
        kill_all = getattr(sys.modules.get("asyncstate.process.ending"), "kill_all", None)
        if kill_all is not None:
            kill_all()
        say_last(f"asyncstate: ended by {name}\n".encode())
        if _last_act is not None:
            _last_act(128 + number, name)
    finally:
        os._exit(128 + number)


def say_last(text: bytes) -> None:
    """Write to standard error, if that does not block."""
    with suppress(OSError, ValueError):
        poll = select.poll()
        poll.register(2, select.POLLOUT)
        if poll.poll(0):
            os.write(2, (b"\x1b[?25h" if os.isatty(2) else b"") + text)  # a live display hides the cursor


def check() -> None:
    """Raise Interrupted if a signal has arrived; the call is a safe point."""
    if _pending:
        number = _pending[0]
        _pending.clear()
        raise Interrupted(number)


def pause(seconds: float) -> None:
    """Sleep, with a safe point before and after. Raises Interrupted."""
    check()
    time.sleep(seconds)
    check()


def _receive(number: int, _frame: FrameType | None) -> None:
    try:
        if number == signal.SIGALRM and _deadline.number:  # the thread that ends the process could not start
            end_now(number)
        deliver(number)
    except BaseException:  # noqa: BLE001 - nothing may be raised here, and the signal must not be lost
        end_now(number)


def deliver(number: int) -> None:
    """Act on a signal as if it had arrived now."""
    if _receivers:
        _receivers[-1](number)
    else:
        note(number)


def note(number: int) -> None:
    """Have the next `check` raise Interrupted; if none comes in time, the process ends."""
    _pending.append(number)
    end_within(number, _LATEST)


@contextmanager
def in_words(last_act: Callable[[int, str], object] | None = None) -> Iterator[None]:
    """Note signals in the block, for `check` or a receiver (`delivered_to`). No effect outside the main thread.

    ``last_act`` ends the process at once, with an exit code and a reason; like `end_now` it takes no lock. Raises
    Interrupted at the end for a signal that came after the last `check`.
    """
    global _last_act  # noqa: PLW0603 - the process ends once
    _last_act = last_act
    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in _NAMES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, _receive)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        late = list(_pending)
        _pending.clear()
        _deadline.clear()
        _last_act = None
    if late:
        raise Interrupted(late[0])


@contextmanager
def delivered_to(receiver: Callable[[int], None], within: float | None = None) -> Iterator[None]:
    """Pass the signals in the block to ``receiver``, in the main thread, between any two steps of the code there.

    It must not raise. It also gets the signals that are still pending. Each ends the process after ``within`` seconds,
    as by `end_within`.
    """
    if within is not None:
        receiver = _limited(receiver, within)
    _receivers.append(receiver)
    try:
        if _pending:
            _deadline.clear()
        while _pending:
            receiver(_pending.pop(0))
        yield
    finally:
        _receivers.remove(receiver)


def _limited(receiver: Callable[[int], None], seconds: float) -> Callable[[int], None]:
    def receive(number: int) -> None:
        receiver(number)
        end_within(number, seconds)

    return receive


@contextmanager
def waking(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Let every signal wake the running ``loop``, so that its receiver is called at once.

    Python calls handlers between two steps of Python code. Without this, a signal that arrives after the last step
    before the loop waits would be handled only after the wait. uvloop does this by itself.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting, alarm = socket.socketpair()
    with waiting, alarm:
        waiting.setblocking(False)
        alarm.setblocking(False)
        before = signal.set_wakeup_fd(alarm.fileno(), warn_on_full_buffer=False)
        if before != -1:
            signal.set_wakeup_fd(before)
            yield
            return
        loop.add_reader(waiting, waiting.recv, 4096)
        try:
            yield
        finally:
            loop.remove_reader(waiting)
            signal.set_wakeup_fd(-1)
