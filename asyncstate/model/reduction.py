"""The transitive reduction of an acyclic graph: the fewest edges that still say what comes before what."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_BLOCK = 8192
"""How many nodes one pass looks for: a number of as many bits for each node bounds the memory, 1 KiB a node."""


def transitive_reduction(size: int, edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the edges without which some node would no longer be reached, each once, in the order given.

    Nodes are ``0 … size-1``, an edge is (before, after). An edge is left out if another path leads from its first node
    to its second. This is the only smallest such set of an acyclic graph. Raises ValueError if there is a cycle.
    """
    given = dict.fromkeys(edges)
    after: list[list[int]] = [[] for _ in range(size)]
    before: dict[int, list[int]] = {}
    for first, second in given:
        after[first].append(second)
        before.setdefault(second, []).append(first)
    try:
        order = [*TopologicalSorter(before).static_order()]
    except CycleError:
        raise ValueError("a graph with a cycle has no transitive reduction") from None
    # Only a node with several edges to it can have one too many, and only such nodes are looked for.
    wanted = [node for node in order if len(before.get(node, ())) > 1]
    longer: set[tuple[int, int]] = set()
    for start in range(0, len(wanted), _BLOCK):
        block = wanted[start : start + _BLOCK]
        longer.update(_with_another_path(order[: order.index(block[-1])], after, block))
    return [edge for edge in given if edge not in longer]


def _with_another_path(order: list[int], after: list[list[int]], wanted: list[int]) -> Iterable[tuple[int, int]]:
    """Yield the edges to the nodes ``wanted`` that a longer path stands for; ``order`` is of those before them."""
    bit = {node: 1 << place for place, node in enumerate(wanted)}
    below = [0] * len(after)
    """Which of the nodes wanted are reached from a node: as many bits as there are of them."""
    for node in reversed(order):
        beyond = 0
        for each in after[node]:
            beyond |= below[each]
        own = beyond
        for each in after[node]:
            if each in bit:
                own |= bit[each]
                if beyond & bit[each]:
                    yield node, each
        below[node] = own
