"""Signals that end the program: each gives a message and an exit code, at any time in the life of the program.

Before a run has begun, and after it, a signal ends the program at once, with a message. A run handles signals itself:
see `asyncstate.cli.session`. A signal that was ignored when the program was started (by ``nohup``, or for a background
job of a shell) stays ignored.
"""

from __future__ import annotations

import signal
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from types import FrameType

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGXCPU")
"""Signals that would end the program without a message, except those that mean a crash."""


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


def _receive(number: int, _frame: FrameType | None) -> None:
    if not _receivers:
        raise Interrupted(number)
    _receivers[-1](number)


@contextmanager
def in_words() -> Iterator[None]:
    """Make signals raise Interrupted in the block, or call the `delivered_to` receiver. No effect in other threads."""
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


@contextmanager
def delivered_to(receiver: Callable[[int], None]) -> Iterator[None]:
    """Pass the signals in the block to ``receiver``, in the main thread, between any two steps of the code there."""
    _receivers.append(receiver)
    try:
        yield
    finally:
        _receivers.remove(receiver)


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
