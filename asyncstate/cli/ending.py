"""Effects of signals on a run: stop it, then cancel it.

A signal may arrive between any two steps of the program: asyncio's ``call_soon_threadsafe`` passes it to the loop. One
that arrives after the end of the run is left to the code that follows.
"""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections import deque
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol

from asyncstate.cli.interrupts import deliver, delivered_to, end_at_latest, end_within, ended_in_time
from asyncstate.run.timer import Timer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_LATEST = 60.0
"""Seconds from the cancellation of a run to its end, at most. Then the process ends at once."""
_SHOWN = 10.0
"""Seconds from a signal after the end of a run until its report is shown, at most."""


class Stoppable(Protocol):
    """A run that signals can end, on this host or of a fleet."""

    def stop(self, reason: str) -> None:
        """Start nothing more."""

    def cancel(self, reason: str) -> None:
        """Start nothing more, and cancel running states."""


class Ending:
    """Signal handling of a run: the first signal stops it, a later one or the end of the grace period cancels it.

    A stopped run starts no more states and lets running ones finish. SIGINT comes from a person at a terminal: after
    any first signal it cancels at once. Other signals come from programs, whose patience is limited: ``grace`` seconds
    after the first of them the running states are cancelled. SIGQUIT cancels at once.
    """

    def __init__(self, run: Stoppable, say: Callable[[str], None], grace: float) -> None:
        self._run = run
        self._say = say
        self._grace = grace
        self._first = ""
        self._cancelled = False
        self._timer: Timer | None = None

    @property
    def exit_code(self) -> int:
        """128 plus the number of the first signal, 0 without one."""
        return 128 + signal.Signals[self._first] if self._first else 0

    def signalled(self, name: str) -> None:
        """Handle a signal, on the loop."""
        if self._cancelled:
            return
        if name == "SIGQUIT" or (self._first and name == "SIGINT"):
            self._first = self._first or name
            self._cancel(name, f"{name}: cancelling what runs.")
        elif not self._first:
            self._first = name
            if name == "SIGINT":
                self._say(f"{name}: starting nothing more, waiting for what runs. Again to cancel it.")
            else:
                self._say(f"{name}: starting nothing more. What still runs in {self._grace:g} s is cancelled.")
            self._run.stop(name)
        if name not in ("SIGINT", "SIGQUIT") and self._timer is None:
            # A second SIGTERM does not cancel: coreutils' `timeout` sends its signal to this process and to its group.
            late = f"{self._grace:g} s after {name}: cancelling what runs."
            self._timer = Timer(self._grace, partial(self._cancel, name, late))
            self._timer.start()

    def bound(self, number: int, arrival: int) -> None:
        """Set the latest time for the end of the process: a plugin may block the loop that handles the signal.

        May be called in a signal handler. ``arrival`` is the number of signals so far.
        """
        if number == signal.SIGQUIT or (number == signal.SIGINT and arrival > 1):
            end_at_latest(number, _LATEST)
        elif number != signal.SIGINT:
            end_at_latest(number, self._grace + _LATEST)

    def over(self) -> None:
        """End the grace period, because the run has ended."""
        if self._timer is not None:
            self._timer.stop()
        ended_in_time()

    def _cancel(self, name: str, text: str) -> None:
        if not self._cancelled:
            self._cancelled = True
            self._say(text)
            end_at_latest(signal.Signals[name], _LATEST)
            self._run.cancel(name)


@contextmanager
def kept_until_shown() -> Iterator[None]:
    """Hold signals that arrive in the block, for a few seconds at most, and deliver them after it.

    Used between the end of a run and its report: there is nothing left to cancel, and the report must not be lost.
    """
    late: deque[int] = deque()

    def keep(number: int) -> None:
        late.append(number)
        end_within(number, _SHOWN)

    try:
        with delivered_to(keep):
            yield
    finally:
        while late:
            deliver(late.popleft())


@contextmanager
def ended_by_signals(run: Stoppable, say: Callable[[str], None], grace: float) -> Iterator[Ending]:
    """Let signals stop and cancel a run on this loop while the block lasts, by the rules of `Ending`."""
    loop = asyncio.get_running_loop()
    ending = Ending(run, say, grace)
    arrived: deque[int] = deque()
    arrivals = itertools.count(1)

    def receive(number: int) -> None:
        ending.bound(number, next(arrivals))
        arrived.append(number)
        loop.call_soon_threadsafe(handle)

    def handle() -> None:
        if arrived:
            ending.signalled(signal.Signals(arrived.popleft()).name)

    try:
        with delivered_to(receive):
            yield ending
    finally:
        ending.over()
        while arrived:
            deliver(arrived.popleft())
