"""The event loop of the program: uvloop if it is installed, asyncio's own otherwise.

This uses asyncio instead of anyio: only asyncio's runner takes a factory that makes the loop.
"""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, TypeVar

from asyncstate.cli.interrupts import Interrupted, delivered_to, end_within, note, waking
from asyncstate.errors import ConfigError
from asyncstate.logs.loggers import get_logger
from asyncstate.process.descriptors import spare_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

log: Final = get_logger(__name__)

T = TypeVar("T")

_LATEST = 60.0
"""Seconds from a signal to the end of the cancelled coroutine, at most: ending its programs may take a dozen."""


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
