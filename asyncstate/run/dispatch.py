"""dispatch: the interface between the scheduler and the code that runs a chunk.

The engine decides what runs when; a `Dispatch` decides how. `chunk/local.py` calls plugins in this process; tests have
fakes. The caller of an engine passes one to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from asyncstate.value import Value

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from asyncstate.errors import Issue
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.result import Outcome, Race, Row
    from asyncstate.run.machine import Work


GRACE = 3.0
"""Seconds that a cancelled call has to end before the run goes on without it."""


class ModuleTraits(msgspec.Struct, frozen=True):
    """The declarations of a state module for all its functions: ``exclusive`` ones run alone; "" is no lane."""

    exclusive: bool = False
    lane: str = ""


class SharedWork(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="shared"):
    """The effects of a common call on other states, kept before the row of the state ``tag`` that made the call.

    ``rows`` are the rows of states that need no call of their own; ``changes`` are to be added to the rows of states
    that run on their own, each with a text for the comment. ``kept`` is the data that members of a transaction share
    after this one. States are named by their tags.
    """

    tag: str
    rows: dict[str, dict[str, Any]] = {}
    changes: dict[str, tuple[dict[str, Any], str]] = {}
    kept: dict[str, Any] = {}


class Findings(Value):
    """The findings of a run that belong to no row.

    ``notices`` are messages for the report; ``warnings`` are problems in the tree or its plugins; ``races`` are
    conflicts between states of a traced run.
    """

    notices: Sequence[str] = ()
    warnings: Sequence[Issue] = ()
    races: Sequence[Race] = ()


class Supervisor(Protocol):
    """The calls that a dispatcher may make to the scheduler (the worker pool) while a chunk runs."""

    @property
    def cut(self) -> bool:
        """Whether the run was cancelled. If not, a cancellation of the task comes from a plugin."""

    async def pause(self, chunk: LowChunk, attempt: int, row: Row, seconds: float) -> bool:
        """Sleep between two attempts of a chunk; return whether to try again.

        ``row`` is the return of the last attempt, ``attempt`` its number from 1. Meanwhile another chunk may use the
        slot; the chunk keeps its lanes and exclusiveness. Sends `ChunkRetried`. A stop of the run ends the pause, and
        then there is no further attempt.
        """

    def overrun(self, work: Work, chunk: LowChunk, row: Row, *, final: bool) -> None:
        """Record that a call still runs after its time limit and the grace period, and free its slot.

        The chunk keeps its lanes and its node: chunks that depend on it or must not overlap with it start only when
        `Dispatch.run_chunk` has returned. Once everything else has ended, the run ends without it. ``row`` is recorded
        at once if it is ``final``, and at the end of the run if the call has not returned by then; a later return of
        `Dispatch.run_chunk` is dropped.
        """

    async def returned(self, work: Work) -> None:
        """Record that the call of `overrun` has returned, and wait for a slot."""

    def share(self, shared: SharedWork) -> None:
        """Keep the effects of a call on other chunks, for a run that resumes this one. Called before its row."""

    def left_running(self, chunk: LowChunk, calls: Sequence[asyncio.Future[None]]) -> None:
        """Record calls that were cancelled and still run; each future is done when its call has ended."""


class Elsewhere(Protocol):
    """The other hosts, for the run of a plan with REMOTE nodes. Used on the event loop of the run."""

    @property
    def rows(self) -> Mapping[str, Row]:
        """The rows known here of states of other hosts that have ended, by tag; it grows.

        ``changes`` names the hosts on which a state changed something, but not the changes.
        """

    def outcomes(self) -> AsyncGenerator[tuple[int, Outcome], None]:
        """Yield each REMOTE node with its outcome. Closed when the run waits for no more of them.

        Never raises: a state whose outcome cannot be known has failed.
        """

    def ended(self, node: int, outcome: Outcome) -> None:
        """Record that a node of this host has ended. Its row is in the journal."""

    def words(self, nodes: Sequence[int]) -> str:
        """Say why REMOTE nodes without a known outcome failed; "" if all have a row."""


class Ahead(Protocol):
    """Work for later chunks, beside those that run. All is called on the event loop of the run."""

    def begin(self) -> None:
        """Begin, after the chunks that are ready now have started."""

    def started(self, chunk: int) -> None:
        """Record that a chunk starts."""

    def ended(self, node: int) -> None:
        """Record that a node of the plan has ended."""

    def stop(self) -> None:
        """Start nothing more, and cancel what runs."""

    async def close(self) -> None:
        """Do what `stop` does, wait for the end, at most `GRACE` seconds, and remove what was not used."""

    def abandon(self, reason: str) -> None:
        """Do what `stop` does, without the closed loop; `close` is then called on another one."""


class Dispatch(Protocol):
    """Runs the chunks of one run.

    All methods but `module_traits` and `findings` are called on the event loop of the run, from several tasks at once:
    as many as the concurrency, and one more for each chunk that pauses.
    """

    def module_traits(self) -> Mapping[str, ModuleTraits]:
        """Return the declarations of the plan's state modules, by name. A missing module declares nothing.

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
        """Do ``work`` and return a well-formed row, whatever happens.

        ``chunk`` is the node's; for a listener, the chunk that calls ``mod_watch``. The row has ``name``, ``result``
        (True, False or None), ``changes`` (a dict), ``comment``, ``start_time``, ``duration`` (in milliseconds),
        ``__id__`` and ``__sls__``; it is plain data without references from elsewhere. A failure, an exception and a
        malformed return are rows, too.

        - If the verdict does not run, nothing is called: the row says that requisites skipped the chunk.
        - A CHECK runs in test mode, and without retries.
        - The dispatcher does ``retry``: it calls again after `Supervisor.pause`, and returns the last row.
        - The dispatcher does ``timeout``: at the limit it ends what it started, and returns a failed row once all of it
          has ended. If that takes longer than `GRACE`, it calls `Supervisor.overrun`, and then `Supervisor.returned`.
        - Cancelled while `Supervisor.cut` is true, it ends what it started and raises CancelledError; the scheduler
          makes the row. It passes calls that do not end to `Supervisor.left_running`.
        - It sends no events: the scheduler reports the start, the pause and the end.
        """

    def recall(self, work: Work, chunk: LowChunk, row: Row, shared: SharedWork | None) -> None:
        """Accept the row of a chunk, and the effects of its call on other chunks, without a call.

        Replaces `run_chunk` for a chunk that ended in a run that is resumed; and is called for a check that does not
        end, before it returns. The tags in ``shared`` are true ones.
        """

    async def aggregate(self, members: tuple[int, ...]) -> None:
        """Fold the chunks with these indexes, the members of a GROUP that may run, into common calls if possible.

        This happens before the first of them runs. Each chunk still runs with `run_chunk`, in its place in the order,
        and has its own row. Raises only for a cancellation of the run: without an aggregation they run one by one.
        """

    def findings(self) -> Findings:
        """Return the findings of the run that belong to no row. Called once, at its end, in a thread."""
