"""Signals that end the program: a word and an exit code for each, from the first line of the program to its last.

Until a run has begun, and when it is over, a signal ends the program where it stands, in words. A run takes signals
itself: see `asyncstate.cli.session`. What was ignored when the program was started, as ``nohup`` and shells in the
background have it, stays ignored.
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
"""Signals that would end the program without a word, apart from those that mean a crash."""


class Interrupted(BaseException):
    """A signal has ended the program; ``name`` is the signal's."""

    def __init__(self, number: int) -> None:
        self.name = signal.Signals(number).name
        super().__init__(self.name)

    @property
    def exit_code(self) -> int:
        """128 and the number of the signal, as shells have it."""
        return 128 + signal.Signals[self.name]


_receivers: list[Callable[[int], None]] = []


def _receive(number: int, _frame: FrameType | None) -> None:
    if not _receivers:
        raise Interrupted(number)
    _receivers[-1](number)


@contextmanager
def in_words() -> Iterator[None]:
    """Let signals raise Interrupted in the block, or reach who has asked for them. Only the main thread may."""
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
    """Give the signals of the block to ``receiver``, in the main thread, between any two steps of what runs there."""
    _receivers.append(receiver)
    try:
        yield
    finally:
        _receivers.remove(receiver)


@contextmanager
def waking(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Let every signal wake the running ``loop``, so that its receiver is called at once.

    Python calls handlers between two steps of its own: a signal that comes after the last step before the loop waits
    would have to wait with it. uvloop sees to that by itself.
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
