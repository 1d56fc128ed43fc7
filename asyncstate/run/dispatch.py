"""dispatch: the interface between the scheduler and the code that runs a chunk.

The engine decides what runs when; a `Dispatch` decides how. `chunk/local.py` calls plugins in this process; tests have
fakes; later ones may use another process or another host. The code that makes an engine passes one to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from asyncstate.value import Value

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
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


class Fetcher(Protocol):
    """Fetches ahead what the chunks of one run will use. All but `fetches` is called on the event loop of the run."""

    def fetches(self, announced: Callable[[str], None]) -> Sequence[Fetch]:
        """Return what can be fetched ahead, as the state modules of the plan declare it.

        Called once before the run begins, in a thread if one can start. Never raises because of a module. From any
        thread, ``announced`` may be called with the `Fetched.topic` of a fetch that may start again.
        """

    async def fetch(self, fetches: Sequence[Fetch]) -> Fetched:
        """Fetch something ahead: several only if they go together, and then in one call.

        Raises only CancelledError; then it has ended what it started. A chunk may start meanwhile that uses it.
        """

    async def forget(self) -> None:
        """Remove what was fetched ahead and not used. Called once, after the last chunk and the last fetch."""


class Findings(Value):
    """What a run has shown beside its rows.

    ``notices`` are messages for the report that belong to no row; ``warnings`` are problems in the tree or its plugins;
    ``races`` are those between states of a traced run.
    """

    notices: Sequence[str] = ()
    warnings: Sequence[Issue] = ()
    races: Sequence[Race] = ()


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

    def left_running(self, chunk: LowChunk, calls: Sequence[asyncio.Future[None]]) -> None:
        """Take note of calls that were cancelled and still run; each future is done when its call has ended.

        The end of the run waits for them, at most `GRACE` seconds, and the report names those that go on.
        """


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

    All methods but `module_traits` and `findings` are called on the event loop of the run, from several tasks at once:
    as many as the concurrency, and one more for each chunk that pauses.
    """

    def module_traits(self) -> Mapping[str, ModuleTraits]:
        """Return what the state modules of the plan declare, by name. A missing module declares nothing.

        This imports modules and may take long, so it is called once before `begin`, in a thread if one can start. Never
        raises because of a module.
        """

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
          makes the row. It names calls that do not end to `Supervisor.left_running`.
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

    def findings(self) -> Findings:
        """Return what the run has shown beside its rows. Called once, at its end, in a thread."""
