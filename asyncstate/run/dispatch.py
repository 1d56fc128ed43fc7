"""dispatch: the seam between the scheduler and whatever runs a chunk.

The engine decides what runs when; how a chunk is run stands behind `Dispatch`: calls of plugins in this process
(`chunk/local.py`), later modules in a process of their own and other hosts, and the fakes of tests. Whoever makes the
engine gives it one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from asyncstate.errors import Issue
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.result import Row
    from asyncstate.run.machine import Work


GRACE = 3.0
"""Seconds that what was cancelled has to come to an end before one goes on without it."""


class ModuleTraits(msgspec.Struct, frozen=True):
    """What a state module declares for all its functions: they run alone, and they are in a lane ("": in none)."""

    exclusive: bool = False
    lane: str = ""


class Supervisor(Protocol):
    """What a dispatcher may ask of the scheduler while a chunk is under way: the worker pool."""

    @property
    def cut(self) -> bool:
        """Whether the run was cancelled. Only then a cancellation of the task is the run's; any other is a plugin's."""

    async def pause(self, chunk: LowChunk, attempt: int, row: Row, seconds: float) -> bool:
        """Sleep between two attempts of a chunk; return whether there is to be another one.

        ``row`` is what the last one, number ``attempt`` from 1, returned. Others may use the slot meanwhile; lanes and
        exclusiveness are kept. Sends `ChunkRetried`. A stop of the run ends the pause, and there is no further attempt.
        """

    def log_as(self, chunk: LowChunk) -> None:
        """Let the log lines that follow in this task be of ``chunk``. It is so when `Dispatch.run_chunk` begins."""

    def record_early(self, work: Work, chunk: LowChunk, row: Row) -> None:
        """Record the row of a chunk that nobody waits for any longer, though it still runs.

        The chunk keeps its slot, its lanes and its node until `Dispatch.run_chunk` returns: what depends on it and what
        must not overlap with it start only then. What is returned in the end is in no row.
        """


class Dispatch(Protocol):
    """Runs the chunks of one run.

    All methods but `module_traits` are called on the event loop of the run, from several tasks at once: as many as the
    concurrency, and one more for each chunk that pauses.
    """

    def module_traits(self) -> Mapping[str, ModuleTraits]:
        """Return what the state modules of the plan declare, by name; what is not there declares nothing.

        It may take long (modules are imported for that), so it is called in a thread where there can be one, once,
        before `begin`. Never raises for what a module does.
        """

    def begin(self, supervisor: Supervisor, rows: Mapping[str, Row]) -> AbstractContextManager[None]:
        """Return the context in which chunks are run. ``rows`` are those recorded so far, by state tag; it grows."""

    async def run_chunk(self, work: Work, chunk: LowChunk) -> Row:
        """Do what ``work`` says and return a well-formed row, whatever happens.

        ``chunk`` is that of the node; for a listener, the chunk that calls ``mod_watch``. The row has ``name``,
        ``result`` (True, False or None), ``changes`` (a dict), ``comment``, ``start_time``, ``duration`` (in
        milliseconds), ``__id__`` and ``__sls__``; it is plain data that nobody else holds. A failure, an exception and
        a malformed return are rows, too.

        - A verdict that does not run gives the row of a chunk that its requisites skipped; nothing is called.
        - A CHECK is run in test mode, and once: without retries.
        - ``retry`` is the dispatcher's: it calls again after `Supervisor.pause`, and returns the last row.
        - ``timeout`` is the dispatcher's: when it is over, it ends what it started and returns a failed row once all of
          it has ended. If that takes longer than `GRACE`, it gives the row to `Supervisor.record_early`.
        - Cancelled while `Supervisor.cut` is true, it ends what it started and raises CancelledError; the scheduler
          makes the row. What does not end is in `overdue`; the run goes on without it after `GRACE`.
        - No events are sent from here: the scheduler sends those of the start, the pause and the end.
        """

    async def aggregate(self, members: tuple[int, ...]) -> None:
        """Fold the chunks with these indexes, those of a GROUP that may run, into common calls, if their module can.

        It comes before the first of them runs. Each is run with `run_chunk` all the same, at its own place, and has a
        row of its own. Never raises but for a cancellation of the run: without an aggregation they run one by one.
        """

    @property
    def overdue(self) -> Sequence[tuple[LowChunk, asyncio.Future[None]]]:
        """Calls that were cut off and go on, with their chunks; each future is done when its call has ended."""

    @property
    def notices(self) -> Sequence[str]:
        """What the report says beside the rows."""

    @property
    def warnings(self) -> Sequence[Issue]:
        """What in the tree or its plugins was found to hold up the run."""
