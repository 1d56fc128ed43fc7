"""The event loop of the program, and the effects of signals on what runs on it.

The loop is uvloop's if that is installed, asyncio's own otherwise. A signal cancels a coroutine; a run it stops first.
It may arrive between any two steps of the program: asyncio's ``call_soon_threadsafe`` passes it to the loop. One that
arrives after the end of the run is left to the code that follows.

This uses asyncio instead of anyio: only asyncio's runner takes a factory that makes the loop.
"""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections import deque
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from asyncstate.cli.interrupts import (
    Interrupted,
    deliver,
    delivered_to,
    end_at_latest,
    end_within,
    ended_in_time,
    note,
    waking,
)
from asyncstate.errors import ConfigError
from asyncstate.guard.event_loop import Timer
from asyncstate.logs import get_logger
from asyncstate.process.descriptors import spare_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import Any

log: Final = get_logger(__name__)

T = TypeVar("T")

_LATEST = 60.0
"""Seconds from the cancellation of a coroutine or a run to its end, at most: ending its programs may take a dozen. Then
the process ends at once."""
_SHOWN = 10.0
"""Seconds from a signal after the end of a run until its report is shown, at most."""


def run_on(wanted: str, main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run ``main()`` like ``asyncio.run``, on the loop that the option ``event_loop`` names. Raises ConfigError.

    A signal cancels ``main()``, and is raised as Interrupted when that has ended. Neither an exception of a task that a
    plugin left on the loop nor a plugin that stops the loop ends the program.
    """
    spare_memory()
    cancellation = _Cancellation()
    with asyncio.Runner(loop_factory=loop_factory(wanted)) as runner:
        loop = runner.get_loop()
        # From here on a signal raises nothing: an exception between creating and running a coroutine would lose it.
        with delivered_to(cancellation.receive):
            task = loop.create_task(cancellation.of(main))
            while True:
                try:
                    return loop.run_until_complete(task)
                except (SystemExit, KeyboardInterrupt) as error:  # asyncio passes these on from any task
                    if task.done():
                        raise
                    log.warning("A task that a plugin started raised %s. The run continues.", type(error).__name__)
                except RuntimeError:
                    if task.done() or loop.is_closed() or loop.is_running():
                        raise
                    log.warning("A plugin stopped the event loop. The run continues.")


class _Cancellation:
    """Cancels a coroutine on a signal, even one that arrives before the coroutine's first step.

    A signal that arrives after its last step is noted for the next safe point.
    """

    def __init__(self) -> None:
        self._received: list[int] = []
        self._is_over = False
        self._cancel: Callable[[], object] | None = None

    def receive(self, number: int) -> None:
        if self._is_over:
            note(number)
            return
        self._received.append(number)
        end_within(number, _LATEST)
        if self._cancel is not None:
            self._cancel()

    async def of(self, main: Callable[[], Coroutine[Any, Any, T]]) -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            if self._received:
                raise Interrupted(self._received[0])
            with waking(loop):
                result = await main()
            self._is_over = True
            if self._received:  # too late to cancel the coroutine
                raise Interrupted(self._received[0])
            return result
        except asyncio.CancelledError:
            if self._received:
                raise Interrupted(self._received[0]) from None
            raise RuntimeError("a plugin cancelled the task of the program") from None
        finally:
            self._cancel, self._is_over = None, True


def loop_factory(wanted: str) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the factory of the loop, None for asyncio's own. Raises ConfigError if uvloop is required but missing."""
    if wanted == "asyncio":
        return None
    if find_spec("uvloop") is None:
        if wanted == "uvloop":
            raise ConfigError("event_loop is uvloop, but uvloop is not installed: pip install 'uvloop>=0.21'")
        return None
    import uvloop

    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


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
    try:
        with delivered_to(late.append, within=_SHOWN):
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
