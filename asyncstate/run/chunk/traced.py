"""TracedDispatch: runs chunks as another dispatch does, and records what each of them touches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from asyncstate.dunders.observer import observer
from asyncstate.errors import Issue
from asyncstate.model.plan import NodeKind
from asyncstate.trace.following import Strace, left_running
from asyncstate.trace.report import find_races, race_issues
from asyncstate.trace.witness import Trace

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.model.race import Race
    from asyncstate.model.result import Row
    from asyncstate.run.dispatch import Dispatch, Fetch, Fetched, ModuleTraits, Supervisor
    from asyncstate.run.machine import Work
    from asyncstate.run.shared import Shared


Keep = Callable[["Trace", set[int]], Sequence[Issue]]
"""Keeps what was seen, of a trace and of the chunks that succeeded with changes; returns what went wrong."""


def _still_followed() -> list[Issue]:
    left = left_running()
    if not left:
        return []
    programs = "a program that a state started" if left == 1 else f"{left} programs that states started"
    return [
        Issue(
            f"strace still follows {programs} in the background",
            hint="restart daemons that are to stay: under strace they are slow, and end with it",
        )
    ]


def traced(plan: Plan, inner: Dispatch, *, own: Sequence[str], keep: Keep) -> TracedDispatch:
    """Return ``inner`` under observation. Raises ConfigError if strace is missing or may not follow programs.

    ``own`` are folders of this program, which no states share.
    """
    return TracedDispatch(plan, inner, Trace(Strace(), own), keep)


class TracedDispatch:
    """Another dispatch under observation; a `Dispatch`. Its warnings name the races that were seen."""

    def __init__(self, plan: Plan, inner: Dispatch, trace: Trace, keep: Keep) -> None:
        self._plan = plan
        self._inner = inner
        self._trace = trace
        self._keep = keep
        self._worked: set[int] = set()
        self._races: Sequence[Race] = ()

    def module_traits(self) -> Mapping[str, ModuleTraits]:
        """Return what the state modules of the plan declare."""
        return self._inner.module_traits()

    def fetches(self) -> Sequence[Fetch]:
        """Return what can be fetched ahead."""
        return self._inner.fetches()

    async def fetch(self, fetches: Sequence[Fetch]) -> Fetched:
        """Fetch something ahead. That is no work of a state, and not observed."""
        return await self._inner.fetch(fetches)

    async def forget_fetched(self) -> None:
        """Remove what was fetched ahead and not used."""
        await self._inner.forget_fetched()

    def begin(self, supervisor: Supervisor, rows: Mapping[str, Row]) -> AbstractContextManager[None]:
        """Return the context in which chunks run."""
        return self._inner.begin(supervisor, rows)

    async def run_chunk(self, work: Work, chunk: LowChunk) -> Row:
        """Run a chunk under observation."""
        with self._watching(work.node):
            row = await self._inner.run_chunk(work, chunk)
        if work.kind is NodeKind.CHUNK and row["result"] is True and row["changes"]:
            self._worked.add(work.chunk)
        return row

    def recall(self, work: Work, chunk: LowChunk, row: Row, shared: Shared | None) -> None:
        """Take note of what an earlier run did."""
        self._inner.recall(work, chunk, row, shared)

    async def aggregate(self, members: tuple[int, ...]) -> None:
        """Fold the members of a group: what their module does for it is done by the first of them."""
        with self._watching(members[0]):
            await self._inner.aggregate(members)

    @contextmanager
    def _watching(self, node: int) -> Iterator[None]:
        before = observer.set(self._trace.of(node))
        try:
            yield
        finally:
            observer.reset(before)

    @property
    def overdue(self) -> Sequence[tuple[LowChunk, asyncio.Future[None]]]:
        """Calls that were cancelled and still run."""
        return self._inner.overdue

    @property
    def notices(self) -> Sequence[str]:
        """Messages for the report that belong to no row."""
        return self._inner.notices

    @property
    def races(self) -> Sequence[Race]:
        """The races that were seen."""
        return self._races

    @property
    def warnings(self) -> Sequence[Issue]:
        """Warnings of the run, and the races that were seen in it. What was seen is kept, too."""
        self._races = find_races(self._plan, *self._trace.seen_by_others())
        lost = self._keep(self._trace, self._worked)
        return [*self._inner.warnings, *race_issues(self._races), *lost, *_still_followed()]
