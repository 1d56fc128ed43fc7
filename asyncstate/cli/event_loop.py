"""Which event loop a run has: uvloop where it is installed, asyncio's own otherwise."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from asyncstate.cli.interrupts import Interrupted, delivered_to
from asyncstate.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

T = TypeVar("T")


def run_on(wanted: str, main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run ``main()`` on the loop that the option ``event_loop`` names, as ``asyncio.run`` does. Raises ConfigError.

    A signal cancels it, and is raised as Interrupted when it has ended.
    """
    cancellation = _Cancellation()
    with asyncio.Runner(loop_factory=loop_factory(wanted)) as runner:
        runner.get_loop()
        # From here on a signal raises nothing: between making a coroutine and running it, that would lose it.
        with delivered_to(cancellation.receive):
            return runner.run(cancellation.of(main))


class _Cancellation:
    """Signals cancel a coroutine, one that comes before its first step, too."""

    def __init__(self) -> None:
        self._received: list[int] = []
        self._cancel: Callable[[], object] | None = None

    def receive(self, number: int) -> None:
        self._received.append(number)
        if self._cancel is not None:
            self._cancel()

    async def of(self, main: Callable[[], Coroutine[Any, Any, T]]) -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            if self._received:
                raise Interrupted(self._received[0])
            return await main()
        except asyncio.CancelledError:
            if self._received:
                raise Interrupted(self._received[0]) from None
            raise
        finally:
            self._cancel = None


def loop_factory(wanted: str) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes the loop, None for asyncio's own. Raises ConfigError if uvloop must be there and is not."""
    if wanted == "asyncio":
        return None
    if find_spec("uvloop") is None:
        if wanted == "uvloop":
            raise ConfigError("event_loop is uvloop, and uvloop is not installed: pip install 'asyncstate[fast]'")
        return None
    import uvloop

    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
