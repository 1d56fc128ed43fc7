"""The transitive reduction of an acyclic graph: the fewest edges that give the same order."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_BLOCK = 8192
"""The number of nodes that one pass searches for: one bit of each for each node bounds the memory, 1 KiB a node."""


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
    # Only a node with several incoming edges can have a redundant one, so only such nodes are searched for.
    wanted = [node for node in order if len(before.get(node, ())) > 1]
    longer: set[tuple[int, int]] = set()
    for start in range(0, len(wanted), _BLOCK):
        block = wanted[start : start + _BLOCK]
        longer.update(_with_another_path(order[: order.index(block[-1])], after, block))
    return [edge for edge in given if edge not in longer]


def _with_another_path(order: list[int], after: list[list[int]], wanted: list[int]) -> Iterable[tuple[int, int]]:
    """Yield the edges to the ``wanted`` nodes that a longer path replaces; ``order`` has the nodes before them."""
    bit = {node: 1 << place for place, node in enumerate(wanted)}
    below = [0] * len(after)
    """The wanted nodes that each node reaches: one bit for each of them."""
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
