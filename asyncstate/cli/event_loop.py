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


def run_on(wanted: str, main: Coroutine[Any, Any, T]) -> T:
    """Run ``main`` on the loop that the option ``event_loop`` names, as ``asyncio.run`` does. Raises ConfigError.

    A signal cancels it, and is raised as Interrupted when it has ended.
    """
    try:
        factory = loop_factory(wanted)
    except ConfigError:
        main.close()
        raise
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(_cancelled_by_signals(main))


async def _cancelled_by_signals(main: Coroutine[Any, Any, T]) -> T:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    received: list[int] = []

    def receive(number: int) -> None:
        received.append(number)
        if task is not None:
            loop.call_soon_threadsafe(task.cancel)

    with delivered_to(receive):
        try:
            return await main
        except asyncio.CancelledError:
            if received:
                raise Interrupted(received[0]) from None
            raise


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
