"""Around: a dispatch that does what another one does, for those that change only a part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from asyncstate.errors import Issue
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.race import Race
    from asyncstate.model.result import Row
    from asyncstate.run.dispatch import Dispatch, Fetch, Fetched, ModuleTraits, Supervisor
    from asyncstate.run.machine import Work
    from asyncstate.run.shared import Shared


class Around:
    """Passes all on to ``inner``; a `Dispatch`."""

    def __init__(self, inner: Dispatch) -> None:
        self._inner = inner

    def module_traits(self) -> Mapping[str, ModuleTraits]:
        """Return what the state modules of the plan declare."""
        return self._inner.module_traits()

    def fetches(self) -> Sequence[Fetch]:
        """Return what can be fetched ahead."""
        return self._inner.fetches()

    async def fetch(self, fetches: Sequence[Fetch]) -> Fetched:
        """Fetch something ahead."""
        return await self._inner.fetch(fetches)

    async def forget_fetched(self) -> None:
        """Remove what was fetched ahead and not used."""
        await self._inner.forget_fetched()

    def begin(
        self, supervisor: Supervisor, rows: Mapping[str, Row], elsewhere: Mapping[str, Row]
    ) -> AbstractContextManager[None]:
        """Return the context in which chunks run."""
        return self._inner.begin(supervisor, rows, elsewhere)

    async def run_chunk(self, work: Work, chunk: LowChunk) -> Row:
        """Run a chunk and return its row."""
        return await self._inner.run_chunk(work, chunk)

    def recall(self, work: Work, chunk: LowChunk, row: Row, shared: Shared | None) -> None:
        """Take note of what an earlier run did."""
        self._inner.recall(work, chunk, row, shared)

    async def aggregate(self, members: tuple[int, ...]) -> None:
        """Fold the members of a group into common calls, if their module can."""
        await self._inner.aggregate(members)

    @property
    def overdue(self) -> Sequence[tuple[LowChunk, asyncio.Future[None]]]:
        """Calls that were cancelled and still run."""
        return self._inner.overdue

    @property
    def notices(self) -> Sequence[str]:
        """Messages for the report that belong to no row."""
        return self._inner.notices

    @property
    def warnings(self) -> Sequence[Issue]:
        """Problems in the tree or its plugins that the run showed."""
        return self._inner.warnings

    @property
    def races(self) -> Sequence[Race]:
        """The races that a traced run showed."""
        return self._inner.races
