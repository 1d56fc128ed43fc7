"""``timeout`` of one call: cancels it at its limit, and waits until all of it has returned.

    limit ──▶ cancel the task once, kill subprocesses ──▶ wait for threads ──▶ the call has ended
                                                          ╰─ after GRACE: ``is_late`` is called

The task is cancelled once, as in asyncio. A cancel scope of anyio would cancel it again at every further await, so a
plugin could not clean up.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from asyncstate.guard.event_loop import Timer
from asyncstate.run.dispatch import GRACE

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from asyncstate.dunders.context import CancelToken


class TimeLimit:
    """A context around the call. ``expired``: whether it exceeded the limit; ``seconds``: its duration in that case.

    A thread cannot be stopped: its cancel token is set, its subprocesses are killed, and the block ends when it has
    returned. If that takes longer than `GRACE`, ``late`` is true and ``is_late`` is called. ``cut`` returns whether the
    run itself was cancelled; that cancellation is passed on.
    """

    def __init__(
        self, limit: float, token: CancelToken, *, cut: Callable[[], bool], is_late: Callable[[], None]
    ) -> None:
        self._limit = limit
        self._token = token
        self._cut = cut
        self._is_late = is_late
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task(self._loop)
        self.expired: bool = False
        self.late: bool = False
        self.told: bool = False
        """Whether the call went on after its cancellation, until it returned."""
        self.seconds: float = 0.0

    async def __aenter__(self) -> Self:
        """Start the timer."""
        self._began = self._loop.time()
        self._timer = Timer(self._limit, self._expire)
        self._timer.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> bool:
        """Wait until the call has ended. The result of a call that exceeded its limit is dropped."""
        try:
            if not self.expired:
                return False
            if self._task is not None:
                self._task.uncancel()
            if self._cut():
                return False
            self.told = kind is None or any(not call.done() for call in self._token.overdue)
            await returned(self._token)
            self.seconds = self._loop.time() - self._began
            return True
        finally:
            self._timer.stop()

    def _expire(self) -> None:
        self.expired = True
        self._timer = Timer(GRACE, self._late)
        self._timer.start()
        reason = f"out of time after {self._limit:g} seconds"
        self._token.cancel(reason)
        if self._task is not None:
            self._task.cancel(reason)

    def _late(self) -> None:
        self.late = True
        self._is_late()


async def returned(token: CancelToken) -> None:
    """Wait until all threads that a cancelled call left running have returned."""
    while pending := {call for call in token.overdue if not call.done()}:
        await asyncio.wait(pending)
