"""DelegatingDispatch: a dispatch that delegates to another one. Subclasses change a part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.result import Row
    from asyncstate.run.dispatch import Dispatch, Findings, ModuleTraits, SharedWork, Supervisor
    from asyncstate.run.machine import Work


class DelegatingDispatch:
    """Delegates everything to ``inner``; a `Dispatch`."""

    def __init__(self, inner: Dispatch) -> None:
        self._inner = inner

    def module_traits(self) -> Mapping[str, ModuleTraits]:
        """Return the declarations of the plan's state modules."""
        return self._inner.module_traits()

    def begin(
        self, supervisor: Supervisor, rows: Mapping[str, Row], elsewhere: Mapping[str, Row]
    ) -> AbstractContextManager[None]:
        """Return the context in which chunks run."""
        return self._inner.begin(supervisor, rows, elsewhere)

    async def run_chunk(self, work: Work, chunk: LowChunk) -> Row:
        """Run a chunk and return its row."""
        return await self._inner.run_chunk(work, chunk)

    def recall(self, work: Work, chunk: LowChunk, row: Row, shared: SharedWork | None) -> None:
        """Accept a row of an earlier run."""
        self._inner.recall(work, chunk, row, shared)

    async def aggregate(self, members: tuple[int, ...]) -> None:
        """Fold the members of a group into common calls, if their module can."""
        await self._inner.aggregate(members)

    def findings(self) -> Findings:
        """Return the findings of the run that belong to no row."""
        return self._inner.findings()
