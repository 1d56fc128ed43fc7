"""Finds races: two nodes of a plan without an order that touched one path, at least one changing it.

As in ThreadSanitizer, the plan's order of the two counts (*happens-before*), not the actual times: so a run of one
state at a time shows the races of every other legal order.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from asyncstate.extras.proof.trace.touched import (
    ABSENT,
    CHANGES,
    ENSURED,
    LISTED,
    LOOKED,
    MADE,
    NAMED,
    REMOVED,
    WRITTEN,
    above,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    Marks = Mapping[int, Mapping[str, Collection[str]]]

BELOW = 1 << 9
"""An existing path below this one was touched."""
ENTRY = 1 << 10
"""A name in this folder was added or removed."""

_DIRECT = LOOKED | ABSENT | CHANGES
_WINDOW = 64
"""The number of earlier accesses of a path that each access is compared with. An access that is ordered with its
neighbours is ordered with all before them; for a path with thousands of racing states, the nearest are enough."""


class Graph(Protocol):
    """The order of the nodes of a plan."""

    def unordered(self, pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
        """Return the pairs without a path between their nodes."""

    def copy(self) -> Self:
        """Return the same graph, to be changed apart from this one."""

    def add(self, before: int, after: int, source: str) -> None:
        """Add an edge."""


class Conflict(NamedTuple):
    """Two nodes, in serial order, without a path between them, and how each touched ``path``."""

    earlier: int
    later: int
    path: str
    before: int
    after: int


def conflicts(
    dag: Graph,
    rank: Sequence[int],
    touched: Mapping[int, Mapping[str, int]],
    marks: Marks | None = None,
    contingent: Collection[tuple[int, int]] = (),
) -> list[Conflict]:
    """Return the conflicts between nodes without an order, by the place of the nodes in the serial order, then path.

    ``rank`` is the place of each node in the serial order, ``touched`` the flags of paths by node, ``marks`` the marks
    of folders (see `Touched`). ``contingent`` are edges that bind until a third node has made a folder: nodes with one,
    or a path through some, do not conflict over the making of a folder.
    """
    known = marks or {}
    found = [
        Conflict(one, two, path, before, after)
        for path, accesses in _accesses(rank, touched).items()
        if len(accesses) > 1
        for one, before, two, after in _pairs(list(accesses.items()))
        if not (_both_ensure(before, after) and _agree(_marks(known, one, path), _marks(known, two, path)))
    ]
    unordered = dag.unordered({(conflict.earlier, conflict.later) for conflict in found})
    kept = [conflict for conflict in found if (conflict.earlier, conflict.later) in unordered]
    if contingent:
        makers = {(conflict.earlier, conflict.later) for conflict in kept if _is_about_making(conflict)}
        apart = _with_edges(dag, contingent).unordered(makers)
        kept = [
            conflict
            for conflict in kept
            if (conflict.earlier, conflict.later) in apart or not _is_about_making(conflict)
        ]
    return sorted(kept, key=lambda conflict: (rank[conflict.earlier], rank[conflict.later], conflict.path))


def clash(before: int, after: int) -> bool:
    """Whether the order of an access with the flags ``before`` and a later one with ``after`` matters."""
    if (before & CHANGES and after & _DIRECT) or (after & CHANGES and before & _DIRECT):
        return True
    for one, other in ((before, after), (after, before)):
        if one & LISTED and other & (ENTRY | MADE | REMOVED):
            return True
        if one & REMOVED and other & (BELOW | ENSURED):
            return True
    if before & ENSURED and after & ENSURED:
        return True  # where their marks differ
    return bool(before & MADE and after & BELOW and not after & ENSURED)


def _is_about_making(conflict: Conflict) -> bool:
    """Whether a conflict is only about the making of a folder, and the need for it."""
    either = conflict.before | conflict.after
    return bool(either & ENSURED) and not either & (WRITTEN | REMOVED | LISTED)


def _with_edges(dag: Graph, edges: Iterable[tuple[int, int]]) -> Graph:
    """Return a graph with the edges of another one and more."""
    both = dag.copy()
    for before, after in edges:
        both.add(before, after, "contingent")
    return both


def _both_ensure(before: int, after: int) -> bool:
    """Whether two accesses make a folder if it is missing, and otherwise read and change only its mode and owner."""
    if not (before & ENSURED and after & ENSURED) or (before | after) & (WRITTEN | REMOVED):
        return False
    return not (before & LISTED and after & ENTRY) and not (after & LISTED and before & ENTRY)


def _agree(one: Collection[str], other: Collection[str]) -> bool:
    """Whether a folder with these marks becomes the same whichever state makes it."""
    made, first, mode, owner = zip(_kinds(one), _kinds(other), strict=True)
    if not _same(*owner):
        return False
    if any(mode):  # it overrides the mode or owner at creation
        return _same(mode[0] or first[0], mode[1] or first[1])
    return _same(*made) and _same(*first)


def _kinds(marks: Collection[str]) -> list[set[str]]:
    found: dict[str, set[str]] = {"made": set(), "first": set(), "mode": set(), "owner": set()}
    for mark in marks:
        kind, _, value = mark.partition(" ")
        found.setdefault(kind, set()).add(value)
    return [found[kind] for kind in ("made", "first", "mode", "owner")]


def _same(one: set[str], other: set[str]) -> bool:
    """Whether two sets of values agree, as far as both are known."""
    return not (one and other) or one == other


def _marks(marks: Marks, node: int, path: str) -> Collection[str]:
    return marks.get(node, {}).get(path, ())


def _accesses(rank: Sequence[int], touched: Mapping[int, Mapping[str, int]]) -> dict[str, dict[int, int]]:
    """Return the flags by path and node, in serial order; of paths that some node changes, or whose names it reads."""
    changed = {path for flags in touched.values() for path, what in flags.items() if what & CHANGES}
    replaced = {path for flags in touched.values() for path, what in flags.items() if what & (MADE | REMOVED)}
    listed = {path for flags in touched.values() for path, what in flags.items() if what & LISTED}
    found: dict[str, dict[int, int]] = {}

    def add(path: str, node: int, what: int) -> None:
        nodes = found.setdefault(path, {})
        nodes[node] = nodes.get(node, 0) | what

    for node in sorted(touched, key=rank.__getitem__):
        for path, what in touched[node].items():
            if path in changed or path in listed:
                add(path, node, what)
            folder = path.rpartition("/")[0]
            if what & (NAMED | MADE | REMOVED) and folder in listed:
                add(folder, node, ENTRY)
            if what != ABSENT:
                for outer in above(path):
                    if outer in replaced:
                        add(outer, node, BELOW)
    return found


def _pairs(accesses: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    found = []
    for at, (two, after) in enumerate(accesses):
        for one, before in islice(accesses, max(0, at - _WINDOW), at):
            if clash(before, after):
                found.append((one, before, two, after))
    return found
