"""The layers of a graph: every edge leads from one to a later, over bends in those between."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asyncstate.layout.graph import Graph

_PASSES = 8
"""How often nodes move to the layer where their edges are shortest; two or three times are usual."""


class Layered(msgspec.Struct):
    """A graph whose edges lead from one layer to the next.

    The nodes 0 … ``size``-1 are those that were given; the others are bends. ``rows`` has the nodes of each layer in
    their order. ``before`` and ``after`` are neighbours in the layers beside. ``chains`` has for each edge the nodes on
    its way, from its first to its last; it is empty if the edge is too long to be drawn.
    """

    size: int
    layer: list[int]
    band: list[int]
    before: list[list[int]]
    after: list[list[int]]
    chains: list[list[int]]
    rows: list[list[int]]

    def is_bend(self, node: int) -> bool:
        """Whether a node stands for a piece of an edge."""
        return node >= self.size


def layered(graph: Graph, bends: int) -> Layered:
    """Return the layers of a graph, with at most as many ``bends`` as given: longer edges are not drawn, if need be.

    Edges of one style from one node share their bends, as a tree whose trunk is the longest of them.
    """
    layer = layers(graph)
    size = len(graph.sizes)
    found = Layered(size, layer, [*graph.bands] or [0] * size, [[] for _ in layer], [[] for _ in layer], [], rows=[])
    longest = _longest(graph, layer, bends)
    trunks: dict[tuple[int, str], list[int]] = {}
    joined: set[tuple[int, int]] = set()
    for first, last, style in graph.edges:
        chain: list[int] = []
        if layer[last] - layer[first] <= longest:
            trunk = trunks.setdefault((first, style), [first])
            while len(trunk) < layer[last] - layer[first]:
                trunk.append(_new_bend(found, trunk))
            chain = [*trunk[: layer[last] - layer[first]], last]
        found.chains.append(chain)
        for before, after in itertools.pairwise(chain):
            if (before, after) not in joined:
                joined.add((before, after))
                found.after[before].append(after)
                found.before[after].append(before)
    found.rows = [[] for _ in range(max(layer, default=-1) + 1)]
    for node, number in enumerate(found.layer):
        found.rows[number].append(node)
    for row in found.rows:
        row.sort(key=lambda node: (found.band[node], node))
    return found


def _new_bend(found: Layered, trunk: list[int]) -> int:
    """Add the next bend of a trunk: in the band that it comes from."""
    found.layer.append(found.layer[trunk[0]] + len(trunk))
    found.band.append(found.band[trunk[0]])
    found.before.append([])
    found.after.append([])
    return len(found.layer) - 1


def _longest(graph: Graph, layer: list[int], bends: int) -> int:
    """Return how many layers an edge may span, so that all that are drawn have at most so many bends together."""
    spans: dict[tuple[int, str], set[int]] = {}
    for first, last, style in graph.edges:
        spans.setdefault((first, style), set()).add(layer[last] - layer[first])
    low, high = 1, max(layer, default=0) + 1
    while low < high:
        middle = (low + high + 1) // 2
        needed = sum(max((span for span in each if span <= middle), default=1) - 1 for each in spans.values())
        low, high = (middle, high) if needed <= bends else (low, middle - 1)
    return low


def layers(graph: Graph) -> list[int]:
    """Return the layer of each node: after all that lead to it, and so that edges are short. Needs an acyclic graph."""
    size = len(graph.sizes)
    after: list[list[int]] = [[] for _ in range(size)]
    before: list[list[int]] = [[] for _ in range(size)]
    for first, last in dict.fromkeys((first, last) for first, last, _ in graph.edges):
        after[first].append(last)
        before[last].append(first)
    layer, order = _by_longest_path(before, after)
    for number in range(_PASSES):
        if not any(_moved(node, layer, before, after) for node in (order if number % 2 else reversed(order))):
            break
    if graph.bands:
        _spread(graph.bands, layer, [node for node in range(size) if not before[node] and not after[node]])
    return layer


def _by_longest_path(before: list[list[int]], after: list[list[int]]) -> tuple[list[int], list[int]]:
    """Return for each node the edges of the longest path to it, and the nodes in topological order."""
    layer = [0] * len(before)
    waiting = [len(nodes) for nodes in before]
    order = [node for node, number in enumerate(waiting) if not number]
    for node in order:
        for other in after[node]:
            layer[other] = max(layer[other], layer[node] + 1)
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    if len(order) < len(before):
        raise ValueError("a graph with a cycle has no layers")
    return layer, order


def _moved(node: int, layer: list[int], before: list[list[int]], after: list[list[int]]) -> bool:
    """Move a node to where its edges are shortest together, and return whether it is another layer than before."""
    was = layer[node]
    if after[node] and len(after[node]) > len(before[node]):
        layer[node] = min(layer[other] for other in after[node]) - 1
    elif before[node] and len(before[node]) > len(after[node]):
        layer[node] = max(layer[other] for other in before[node]) + 1
    return layer[node] != was


def _spread(bands: Sequence[int], layer: list[int], alone: list[int]) -> None:
    """Put nodes without edges where their band has the fewest, for a band is as high as its fullest layer."""
    counts: dict[int, list[int]] = {band: [0] * (max(layer, default=0) + 1) for band in bands}
    free = set(alone)
    for node, number in enumerate(layer):
        if node not in free:
            counts[bands[node]][number] += 1
    for node in alone:
        of_band = counts[bands[node]]
        layer[node] = of_band.index(min(of_band))
        of_band[layer[node]] += 1
