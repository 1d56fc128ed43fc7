"""LoopAffinity: ties a runtime and its runs to one event loop, and guards them from other loops and threads.

It uses asyncio: anyio names the library that runs, but not the loop.
"""

from __future__ import annotations

import sys
from asyncio import _get_running_loop
from contextlib import suppress
from typing import TYPE_CHECKING

from asyncstate.errors import EventLoopError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


class LoopAffinity:
    """The event loop of a runtime: the one it was entered on.

    A call that awaits belongs on that loop (`require`). One that blocks belongs in a thread without a loop (`refuse`).
    A stop or cancel may come from any thread (`deliver`).
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def bind(self) -> asyncio.AbstractEventLoop:
        """Belong to the running loop from now on, and return it. Raises EventLoopError if asyncio runs none."""
        self._loop = running_loop()
        return self._loop

    @property
    def bound(self) -> bool:
        """Whether it belongs to a loop."""
        return self._loop is not None

    def release(self) -> None:
        """Belong to no loop from now on."""
        self._loop = None

    def require(self, call: str) -> None:
        """Raise EventLoopError unless ``call`` is made on the loop of this runtime."""
        if running_loop() is self._loop:
            return
        if self._loop is None:
            raise EventLoopError(
                f"{call} needs a runtime that was entered: call it within `async with StateRuntime(…) as runtime`"
            )
        raise EventLoopError(
            f"{call} belongs on the event loop that its runtime was entered on, and another one runs here. Give each "
            "loop a runtime of its own; or hand the call over: asyncio.run_coroutine_threadsafe(…, loop)"
        )

    def refuse(self, call: str, instead: str) -> None:
        """Raise EventLoopError where ``call``, which blocks, would hold up an event loop.

        Any loop counts, since on any of them ``__salt__`` gives templates awaitables instead of values.
        """
        if _get_running_loop() is not None:
            raise EventLoopError(f"{call} would hold up the event loop. Use `{instead}`, or call it in a thread.")

    def require_loop_thread(self, call: str) -> None:
        """Raise EventLoopError in any thread but the loop's: ``call`` reads values that the loop changes."""
        if self._loop is not None and not self._on_loop():
            raise EventLoopError(
                f"{call} may be read on the event loop only, as long as the run goes on. From another thread, ask the "
                "loop: asyncio.run_coroutine_threadsafe(…, loop)"
            )

    def deliver(self, order: Callable[[str], None], reason: str) -> None:
        """Call ``order(reason)`` on the loop: at once in the loop's thread, else as soon as the loop handles it."""
        loop = self._loop
        if loop is None or self._on_loop():
            order(reason)
            return
        with suppress(RuntimeError):  # the loop is closed, so there is nothing to stop
            loop.call_soon_threadsafe(order, reason)

    def _on_loop(self) -> bool:
        return self._loop is not None and _get_running_loop() is self._loop


def running_loop() -> asyncio.AbstractEventLoop:
    """Return the running loop of asyncio. Raises EventLoopError, with advice, if there is none."""
    loop = _get_running_loop()
    if loop is not None:
        return loop
    if _runs_trio():
        raise EventLoopError(
            "asyncstate runs on asyncio only, and trio runs here. Start the program on asyncio: asyncio.run(main()), "
            "or anyio.run(main) without backend='trio'. Inside a program on trio, give it a thread and a loop of its "
            "own: await trio.to_thread.run_sync(asyncio.run, main())"
        )
    raise EventLoopError(
        "asyncstate needs the event loop of asyncio, and none runs here. Start the program with asyncio.run(main())"
    )


def _runs_trio() -> bool:
    trio = sys.modules.get("trio")
    return trio is not None and bool(trio.lowlevel.in_trio_run())
