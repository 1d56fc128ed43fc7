"""The views of a run that plugins get as ``__running__`` and ``__lowstate__``. They show its present state.

Every access returns a fresh copy, so plugins may change what they get without an effect on the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from asyncstate.model.chunk import fresh

if TYPE_CHECKING:
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.result import Row


class RunningView(Mapping[str, "Row"]):
    """The rows of the states that have finished so far, by tag.

    A lookup also finds a state of another host that this one waits for, in ``elsewhere``. Iteration yields only the
    rows of this host.
    """

    __slots__ = ("_elsewhere", "_rows")

    def __init__(self, rows: Mapping[str, Row], elsewhere: Mapping[str, Row]) -> None:
        self._rows = rows
        self._elsewhere = elsewhere

    def __getitem__(self, tag: str) -> Row:
        row: Row = fresh(self._rows[tag] if tag in self._rows else self._elsewhere[tag])
        return row

    def __contains__(self, tag: object) -> bool:
        return tag in self._rows or tag in self._elsewhere

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._rows))

    def __len__(self) -> int:
        return len(self._rows)


class LowStateView(Sequence[dict[str, Any]]):
    """All low data of the run, in serial order."""

    __slots__ = ("_chunks",)

    def __init__(self, chunks: Sequence[LowChunk]) -> None:
        self._chunks = chunks

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [chunk.as_low() for chunk in self._chunks[index]]
        return self._chunks[index].as_low()

    def __len__(self) -> int:
        return len(self._chunks)
