"""dispatch: the interface between the scheduler and the code that runs a chunk.

The engine decides what runs when; a `Dispatch` decides how. `chunk/local.py` calls plugins in this process; tests have
fakes; later ones may use another process or another host. The code that makes an engine passes one to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from asyncstate.errors import Issue
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.race import Race
    from asyncstate.model.result import Outcome, Row
    from asyncstate.run.machine import Work
    from asyncstate.run.shared import Shared


GRACE = 3.0
"""Seconds that a cancelled call has to end before the run goes on without it."""


class ModuleTraits(msgspec.Struct, frozen=True):
    """What a state module declares for all its functions: they run alone, and they are in a lane ("": in none)."""

    exclusive: bool = False
    lane: str = ""


class Fetch(msgspec.Struct, frozen=True):
    """Something that a chunk (an index) will use, and that can be fetched into a cache before its turn.

    ``function`` is an execution function that fetches it, with these ``arguments``; if fetches go ``together``, it gets
    a list of the arguments of each. ``what`` describes it in events. ``reads`` are the resources that fetching depends
    on, as in a footprint: if there are any, the fetch waits for who writes them, and for what the chunk requires.
    """

    chunk: int
    function: str
    arguments: dict[str, Any] = {}
    what: str = ""
    reads: tuple[str, ...] = ()
    together: bool = False


class Fetched(msgspec.Struct, frozen=True):
    """What came of a fetch: ``result`` and ``text`` of `PrefetchEnded`; the ``topic`` it waits for if that is later."""

    result: str
    text: str = ""
    topic: str = ""


class Supervisor(Protocol):
    """What a dispatcher may call on the scheduler (the worker pool) while a chunk runs."""

    @property
    def cut(self) -> bool:
        """Whether the run was cancelled. Only then a cancellation of the task is the run's; any other is a plugin's."""

    async def pause(self, chunk: LowChunk, attempt: int, row: Row, seconds: float) -> bool:
        """Sleep between two attempts of a chunk; return whether to try again.

        ``row`` is what the last attempt returned, ``attempt`` its number from 1. Meanwhile another chunk may use the
        slot; the chunk keeps its lanes and exclusiveness. Sends `ChunkRetried`. A stop of the run ends the pause, and
        then there is no further attempt.
        """

    def log_as(self, chunk: LowChunk) -> None:
        """Attribute further log lines of this task to ``chunk``; already done when `Dispatch.run_chunk` begins."""

    def overrun(self, work: Work, chunk: LowChunk, row: Row, *, final: bool) -> None:
        """Take note that a call still runs after its time limit and the grace period, and give its slot to others.

        The chunk keeps its lanes and its node: chunks that depend on it or must not overlap with it start only when
        `Dispatch.run_chunk` has returned. Once everything else has ended, the run ends without it. ``row`` is recorded
        at once if it is ``final``, and at the end of the run if the call has not returned by then; what
        `Dispatch.run_chunk` returns after that is dropped.
        """

    async def returned(self, work: Work) -> None:
        """Take note that the call of `overrun` has returned, and wait for a slot."""

    def share(self, shared: Shared) -> None:
        """Keep what the call of a chunk has done for others, for a run that resumes this one. Before its row."""

    def announced(self, topic: str) -> None:
        """Start the fetches that waited for ``topic``. May be called from any thread."""


class Elsewhere(Protocol):
    """The other hosts, for the run of a plan that has REMOTE nodes. Used on the event loop of the run."""

    @property
    def rows(self) -> Mapping[str, Row]:
        """What is known here of the states of other hosts that have ended, by tag; it grows.

        ``changes`` has the hosts on which a state changed something, and not what.
        """

    def outcomes(self) -> AsyncGenerator[tuple[int, Outcome], None]:
        """Yield each REMOTE node with what its state ended with. Closed when the run no longer waits for any.

        It never raises: a state of which nothing can be known has failed.
        """

    def ended(self, node: int, outcome: Outcome) -> None:
        """Take note that a node of this host has ended. Its row is in the journal."""

    def words(self, nodes: Sequence[int]) -> str:
        """Say why REMOTE nodes failed of which nothing is known; "" if all had a row of their own."""


class Dispatch(Protocol):
    """Runs the chunks of one run.

    All methods but `module_traits` and `fetches` are called on the event loop of the run, from several tasks at once:
    as many as the concurrency, and one more for each chunk that pauses and each fetch.
    """

    def module_traits(self) -> Mapping[str, ModuleTraits]:
        """Return what the state modules of the plan declare, by name. A missing module declares nothing.

        This imports modules and may take long, so it is called once before `begin`, in a thread if one can start. Never
        raises because of a module.
        """

    def fetches(self) -> Sequence[Fetch]:
        """Return what can be fetched ahead, as the state modules of the plan declare it; nothing in a dry run.

        Called once before `begin`, like `module_traits`, and only if the run fetches ahead. Never raises because of a
        module.
        """

    async def fetch(self, fetches: Sequence[Fetch]) -> Fetched:
        """Fetch something ahead: several only if they go together, and then in one call.

        Raises only CancelledError; then it has ended what it started. A chunk may start meanwhile that uses it.
        """

    async def forget_fetched(self) -> None:
        """Remove what was fetched ahead and not used. Called once, after the last chunk and the last fetch."""

    def begin(
        self, supervisor: Supervisor, rows: Mapping[str, Row], elsewhere: Mapping[str, Row]
    ) -> AbstractContextManager[None]:
        """Return the context in which chunks run. ``rows`` has the rows recorded so far by state tag, and grows.

        ``elsewhere`` is `Elsewhere.rows`, empty if the plan waits for no other host.
        """

    async def run_chunk(self, work: Work, chunk: LowChunk) -> Row:
        """Do what ``work`` says and return a well-formed row, whatever happens.

        ``chunk`` is that of the node; for a listener, the chunk that calls ``mod_watch``. The row has ``name``,
        ``result`` (True, False or None), ``changes`` (a dict), ``comment``, ``start_time``, ``duration`` (in
        milliseconds), ``__id__`` and ``__sls__``; it is plain data with no other references. A failure, an exception
        and a malformed return are rows, too.

        - If the verdict does not run, nothing is called: the row is that of a chunk skipped by its requisites.
        - A CHECK runs in test mode, and without retries.
        - The dispatcher does ``retry``: it calls again after `Supervisor.pause`, and returns the last row.
        - The dispatcher does ``timeout``: at the limit it ends what it started, and returns a failed row once all of it
          has ended. If that takes longer than `GRACE`, it calls `Supervisor.overrun`, and then `Supervisor.returned`.
        - Cancelled while `Supervisor.cut` is true, it ends what it started and raises CancelledError; the scheduler
          makes the row. Calls that do not end are in `overdue`; after `GRACE` the run goes on without them.
        - It sends no events: the scheduler sends those of the start, the pause and the end.
        """

    def recall(self, work: Work, chunk: LowChunk, row: Row, shared: Shared | None) -> None:
        """Take note that a chunk had this row, and what its call did for others.

        Called in place of `run_chunk`, with the row of an earlier run that is resumed; and for a check that does not
        end, before it returns. The tags in ``shared`` are true ones.
        """

    async def aggregate(self, members: tuple[int, ...]) -> None:
        """Fold the chunks with these indexes, the members of a GROUP that may run, into common calls if possible.

        This happens before the first of them runs. Each chunk still runs with `run_chunk`, in its own position, and has
        a row of its own. Raises only for a cancellation of the run: without an aggregation they run one by one.
        """

    @property
    def overdue(self) -> Sequence[tuple[LowChunk, asyncio.Future[None]]]:
        """Calls that were cancelled and still run, with their chunks; a future is done when its call has ended."""

    @property
    def notices(self) -> Sequence[str]:
        """Messages for the report that belong to no row."""

    @property
    def warnings(self) -> Sequence[Issue]:
        """Problems in the tree or its plugins that the run showed. Asked for once, at its end, in a thread."""

    @property
    def races(self) -> Sequence[Race]:
        """The races between states that a traced run showed. Asked for after `warnings`."""
