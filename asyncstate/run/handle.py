"""Run: a run under way, as the program that started it holds it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Self

import anyio

from asyncstate.model.result import GAVE_UP
from asyncstate.process.ending import reaper
from asyncstate.run.durability import sync_written

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager
    from types import TracebackType

    from anyio.abc import TaskGroup

    from asyncstate.load.host import PluginHost
    from asyncstate.model.event import Event
    from asyncstate.model.result import Row, RunReport
    from asyncstate.run.affinity import LoopAffinity
    from asyncstate.run.engine import Engine


class Feed:
    """Events on their way from the engine to who iterates, one reader at a time; a slow one never holds up a state."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._closed = False
        self._news: anyio.Event | None = None

    def put(self, event: Event) -> None:
        """Take an event and wake the reader."""
        self._events.append(event)
        self._ring()

    def close(self) -> None:
        """Say that no more events will come."""
        self._closed = True
        self._ring()

    def _ring(self) -> None:
        if self._news is not None:
            self._news.set()
            self._news = None

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            while self._events:
                yield self._events.popleft()
            if self._closed:
                return
            if self._news is not None:
                raise RuntimeError("the events of this run have a reader already: start one task that passes them on")
            self._news = anyio.Event()
            await self._news.wait()


class Run:
    """A run under way. Enter it to start; iterate for its events; leave it to wait for its end.

    Leaving the block through an exception, of which a cancellation of the task is one, cancels the run and waits until
    what it ran has ended. ``report`` is there once the run is over, then too.

    A run belongs to the event loop of its runtime. Whatever is used on another one, or in another thread, raises
    EventLoopError; `stop` and `cancel` may be called from any thread, and ``report`` may be read there.
    """

    def __init__(
        self,
        engine: Engine,
        feed: Feed | None,
        *,
        host: PluginHost,
        lock: AbstractAsyncContextManager[object],
        running: set[Run],
        affinity: LoopAffinity,
    ) -> None:
        self._engine = engine
        self._affinity = affinity
        self._host = host
        self._feed = feed
        self._lock = lock
        self._all_running = running
        self._end: anyio.Event | None = None
        self._group: TaskGroup | None = None
        self._report: RunReport | None = None

    @property
    def report(self) -> RunReport:
        """The end of the run, also of one that was cancelled. RuntimeError before it is over."""
        if self._report is None and self._end is not None and self._end.is_set():
            raise RuntimeError("the run was cancelled before it could start anything: it has no report")
        if self._report is None:
            raise RuntimeError("the run is not over: leave its `async with` block, or iterate to the end")
        return self._report

    @property
    def rows(self) -> dict[str, Row]:
        """The rows of the states that have ended so far, by tag."""
        self._look("Run.rows")
        return self._engine.rows

    @property
    def running(self) -> list[str]:
        """The tags of the states that run now."""
        self._look("Run.running")
        return self._engine.running

    def stop(self, reason: str) -> None:
        """Start nothing more; what runs may finish. The report's ``cancelled`` is ``reason``, its exit code 125.

        May be called from any thread, before the run is entered and after its end too. The first reason counts. On the
        event loop nothing is started after the call; from another thread, as soon as the loop gets to it. In a handler
        of `signal.signal`, call ``loop.call_soon_threadsafe(run.stop, reason)``.
        """
        self._affinity.deliver(self._engine.stop, reason)

    def cancel(self, reason: str) -> None:
        """Do what `stop` does, and end what runs: process groups are killed, the rows of the states say so.

        Returns at once; leaving the block, or `wait`, waits for the end. May be called wherever `stop` may.
        """
        self._affinity.deliver(self._engine.cancel, reason)

    def __aiter__(self) -> AsyncIterator[Event]:
        """Yield every event, from the first, as it happens, to one reader. One that left may come back for the rest.

        RuntimeError for a run without events, and for a second reader beside the first. EventLoopError.
        """
        self._affinity.require("async for … in run")
        if self._feed is None:
            raise RuntimeError("this run was started without events")
        return aiter(self._feed)

    async def __aenter__(self) -> Self:
        """Start the run.

        Raises LockHeld, or OSError if there can be no lock; RuntimeError if it was started before; EventLoopError.
        """
        self._affinity.require("async with runtime.run(…)")
        if self._group is not None:
            raise RuntimeError("a run is started once: ask the runtime for another one")
        await self._lock.__aenter__()
        self._end = anyio.Event()
        self._all_running.add(self)
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(self._drive)
        return self

    async def wait(self) -> None:
        """Wait for the end of a run that another task of this loop has entered. Giving up waiting leaves it alone."""
        self._affinity.require("Run.wait")
        if self._end is not None:
            await self._end.wait()

    def _look(self, call: str) -> None:
        if self._end is not None and not self._end.is_set():
            self._affinity.require_loop_thread(call)

    def _has_ended(self) -> None:
        self._all_running.discard(self)
        if self._end is not None:
            self._end.set()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Wait for the end of the run; cancel it if the block was left by an exception."""
        if self._group is None:
            return None
        if error is not None:
            self._engine.cancel(GAVE_UP)
        try:
            return await self._group.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            if len(group.exceptions) == 1:
                raise group.exceptions[0] from None
            raise
        finally:
            await self._lock.__aexit__(None, None, None)
            self._has_ended()

    async def _drive(self) -> None:
        try:
            await self._engine.run()
            await sync_written(self._host)
        finally:
            self._report = self._engine.report
            if reaper.busy:
                with anyio.CancelScope(shield=True):
                    await self._host.workers.run(reaper.wait)
            await self._lock.__aexit__(None, None, None)
            self._has_ended()
            if self._feed is not None:
                self._feed.close()
