"""TracedDispatch: runs chunks as another dispatch does, each under an observer of what it touches."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from asyncstate.dunders.context import observer
from asyncstate.model.plan import NodeKind
from asyncstate.model.result import Race
from asyncstate.run.delegating_dispatch import DelegatingDispatch
from asyncstate.run.dispatch import Findings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from asyncstate.dunders.context import Observer
    from asyncstate.errors import Issue
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.result import Row
    from asyncstate.run.dispatch import Dispatch
    from asyncstate.run.machine import Work

    Raced = tuple[LowChunk, LowChunk, Iterable[tuple[str, str, str, bool, bool]]]


class Tracer(Protocol):
    """The notes of an extra on one run."""

    def of(self, node: int) -> Observer:
        """Return the observer of the calls of a node."""

    def found(self, worked: set[int]) -> tuple[Sequence[Raced], Sequence[Issue]]:
        """Return the races, as `Race.between` takes them, and warnings of them and others.

        ``worked`` are the chunks that succeeded with changes.
        """


class TracedDispatch(DelegatingDispatch):
    """Another dispatch under observation. Its warnings name what the tracer found."""

    def __init__(self, inner: Dispatch, tracer: Tracer) -> None:
        super().__init__(inner)
        self._tracer = tracer
        self._worked: set[int] = set()

    async def run_chunk(self, work: Work, chunk: LowChunk) -> Row:
        """Run a chunk under observation."""
        with self._watching(work.node):
            row = await self._inner.run_chunk(work, chunk)
        if work.kind is NodeKind.CHUNK and row["result"] is True and row["changes"]:
            self._worked.add(work.chunk)
        return row

    async def aggregate(self, members: tuple[int, ...]) -> None:
        """Fold the members of a group: accesses of their module count as the first member's."""
        with self._watching(members[0]):
            await self._inner.aggregate(members)

    @contextmanager
    def _watching(self, node: int) -> Iterator[None]:
        before = observer.set(self._tracer.of(node))
        try:
            yield
        finally:
            observer.reset(before)

    def findings(self) -> Findings:
        """Return the findings of the run, with its races."""
        found = self._inner.findings()
        races, warnings = self._tracer.found(self._worked)
        return Findings(found.notices, [*found.warnings, *warnings], [Race.between(*each) for each in races])
