"""Run: the handle of a run, for the program that started it.

It uses asyncio where anyio has no equivalent: a run whose loop was closed is cleaned up on another loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Self

import anyio

from asyncstate.config.values import checked
from asyncstate.filesystem.replacement import UNSYNCED
from asyncstate.guard.event_loop import LOOP_CLOSED, PROGRAM_ENDED, LoopEnd, in_background
from asyncstate.guard.lock import RunLock, clear_cut_off, import_backend, is_anything_cut_off
from asyncstate.load.threads import to_its_end
from asyncstate.model.result import GAVE_UP

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager
    from types import TracebackType

    from anyio.abc import TaskGroup

    from asyncstate.guard.event_loop import LoopAffinity
    from asyncstate.load.host import PluginHost
    from asyncstate.model.event import AnyEvent
    from asyncstate.model.result import Row, RunReport
    from asyncstate.run.engine import Engine


class Feed:
    """A queue of events from the engine to one reader at a time. A slow reader never holds up a state."""

    def __init__(self) -> None:
        self._events: deque[AnyEvent] = deque()
        self._closed = False
        self._news: anyio.Event | None = None

    def put(self, event: AnyEvent) -> None:
        """Add an event and wake the reader."""
        self._events.append(event)
        self._ring()

    def close(self) -> None:
        """End the stream: no more events will come."""
        self._closed = True
        self._ring()

    def _ring(self) -> None:
        if self._news is not None:
            self._news.set()
            self._news = None

    async def __aiter__(self) -> AsyncIterator[AnyEvent]:
        while True:
            while self._events:
                yield self._events.popleft()
            if self._closed:
                return
            if self._news is not None:
                raise RuntimeError("the events of this run have a reader already: start one task that passes them on")
            news = self._news = anyio.Event()
            try:
                await news.wait()
            finally:  # a reader that is cancelled leaves the place to another
                if self._news is news:
                    self._news = None


class Run:
    """One run. Enter it to start; iterate for its events; leave it to wait for its end.

    If an exception leaves the block (a cancellation of the task is one), the run is cancelled, and the block waits
    until its states have ended. ``report`` is then available, as after any other end.

    A run belongs to the event loop of its runtime. Its methods raise EventLoopError on another loop or in another
    thread, except for `stop` and `cancel`, which any thread may call, and ``report``, which any thread may read.
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
        self._is_entered = False
        self._group: TaskGroup | None = None
        self._report: RunReport | None = None
        self._loop_end = LoopEnd(self._abandon, lambda: self.cancel(PROGRAM_ENDED))
        self._is_abandoned = False

    @property
    def id(self) -> str:
        """The ID of the run, as in its report and in the journal."""
        return self._engine.options.run_id

    @property
    def report(self) -> RunReport:
        """The report of the run, also of a cancelled one. Raises RuntimeError before the run is over."""
        if self._report is None and self._end is not None and self._end.is_set():
            raise RuntimeError("the run was cancelled before it could start anything: it has no report")
        if self._report is None:
            raise RuntimeError("the run is not over: leave its `async with` block, or iterate to the end")
        return self._report

    @property
    def is_reported(self) -> bool:
        """Whether the run has a report."""
        return self._report is not None

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

    @checked
    def stop(self, reason: str) -> None:
        """Start nothing more; running states may finish. The report's ``cancelled`` is ``reason``, its exit code 125.

        May be called from any thread, also before the run is entered and after its end. The first reason counts. Called
        on the event loop, it takes effect at once; from another thread, as soon as the loop handles it. In a handler of
        `signal.signal`, call ``loop.call_soon_threadsafe(run.stop, reason)``. A run that waits for another one to end
        does not begin: entering it raises LockHeld.
        """
        self._give_up_lock()
        self._affinity.deliver(self._engine.stop, reason)

    @checked
    def cancel(self, reason: str) -> None:
        """Do what `stop` does, and end running states: kill their process groups and say so in their rows.

        Returns at once; leaving the block, or `wait`, waits for the end. May be called from any thread, like `stop`.
        """
        self._give_up_lock()
        self._affinity.deliver(self._engine.cancel, reason)

    def _give_up_lock(self) -> None:
        if isinstance(self._lock, RunLock):
            self._lock.give_up()

    def __aiter__(self) -> AsyncIterator[AnyEvent]:
        """Yield every event from the first on, as it happens. A reader may leave and come back for the rest.

        Raises RuntimeError for a run without events and for a second reader at the same time; EventLoopError.
        """
        self._affinity.require("async for … in run")
        if self._feed is None:
            raise RuntimeError("this run was started without events")
        return aiter(self._feed)

    async def __aenter__(self) -> Self:
        """Start the run.

        Raises LockHeld, or OSError if the lock file cannot be made; RuntimeError if it was started before;
        EventLoopError.
        """
        self._affinity.require("async with runtime.run(…)")
        if self._is_entered:
            raise RuntimeError("a run is started once: ask the runtime for another one")
        self._is_entered = True
        try:
            await import_backend(self._host.workers)
            await self._lock.__aenter__()
        except BaseException:
            self._is_entered = False
            raise
        self._end = anyio.Event()
        self._loop_end.start()
        self._all_running.add(self)
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(self._drive)
        return self

    async def wait(self) -> None:
        """Wait for the end of a run that another task of this loop has entered. Cancelling the wait leaves it alone."""
        self._affinity.require("Run.wait")
        if self._end is not None:
            await self._end.wait()

    def _look(self, call: str) -> None:
        if self._end is not None and not self._end.is_set():
            self._affinity.require_loop_thread(call)

    def _abandon(self) -> None:
        """End the run without its closed loop. Its processes end, and its lock is released, in the background."""
        self._is_abandoned = True
        self._loop_end.stop()
        self._all_running.discard(self)
        release = self._lock.hand_over() if isinstance(self._lock, RunLock) else None
        self._engine.abandon(LOOP_CLOSED)
        self._report = self._engine.report
        in_background(partial(self._clean_up, release))

    def _clean_up(self, release: Callable[[], None] | None) -> None:
        try:
            clear_cut_off()
            asyncio.run(self._engine.clean_up())
        finally:
            if release is not None:
                release()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Wait for the end of the run; cancel it if an exception left the block."""
        if self._group is None:
            return None
        if self._is_abandoned:
            return None
        if error is not None:
            self._engine.cancel(GAVE_UP)
        if isinstance(error, Exception):  # the run ends by itself, with a report, even if nothing of it has begun
            kind = error = trace = None
        try:
            return await self._group.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            if len(group.exceptions) == 1:
                raise group.exceptions[0] from None
            raise
        finally:
            if self in self._all_running:  # it was cancelled before it could start
                await to_its_end(self._wind_up())

    async def _drive(self) -> None:
        try:
            await self._engine.run()
            if written := self._host.shared.pop(UNSYNCED, None):
                from asyncstate.guard.durability import sync  # noqa: PLC0415 - many runs write no new file

                await self._host.workers.run_to_end(sync, written)
        finally:
            if not self._is_abandoned:
                await to_its_end(self._wind_up())

    async def _wind_up(self) -> None:
        self._report = self._engine.report
        if is_anything_cut_off():
            await self._host.workers.run_to_end(clear_cut_off)
        if self._all_running <= {self}:  # another one shares __context__; a task that waits for the lock does not
            self._host.run_ended()
        await self._lock.__aexit__(None, None, None)
        self._loop_end.stop()
        self._all_running.discard(self)
        if self._end is not None:
            self._end.set()
        if self._feed is not None:
            self._feed.close()
