"""The layout of a whole graph: in bands, or part by part."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.layout.graph import Box, Graph, Layout
from asyncstate.layout.layers import layers
from asyncstate.layout.packing import in_columns, packed
from asyncstate.layout.part import CLOSEST, part
from asyncstate.layout.places import BETWEEN_BOXES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from asyncstate.layout.graph import Spot

_BENDS = 60_000
"""So many bends can be placed in some seconds. Edges that would need more are not drawn, the longest first."""
_AROUND = 24.0
"""Between two parts."""
_TRIED = 300
"""Graphs of so many nodes are laid out in both directions, to take the better; of larger ones, both are estimated."""
_SCREEN = (1600.0, 1000.0)


def layout(graph: Graph, place: Callable[[Graph, int, bool], Layout] = part) -> Layout:
    """Return the places of all nodes and edges. Layers go to the right or down; bands, which are rows, to the right.

    ``place`` gives the layout of a part that is connected, from how many bends it may have and whether it goes to the
    right. The same graph has the same layout. Raises ValueError for a cycle.
    """
    if graph.bands:
        return part(graph, _BENDS, True)
    parts = _parts(graph)
    graphs = [_within(graph, each) for each in parts]
    if len(graph.sizes) <= _TRIED:
        drawn = min((_drawn(graphs, place, right) for right in (True, False)), key=_awkward)
    else:
        drawn = _drawn(graphs, place, _goes_right(graphs))
    spots, width, height = packed(_sizes(drawn))
    boxes = [Box(0.0, 0.0, 0.0, 0.0)] * len(graph.sizes)
    routes: list[Sequence[Spot]] = [()] * len(graph.edges)
    for of_part, found, (left, top) in zip(parts, drawn, spots, strict=True):
        for node, box in zip(of_part.nodes, found.boxes, strict=True):
            boxes[node] = Box(box.left + left, box.top + top, box.width, box.height)
        for edge, route in zip(of_part.edges, found.routes, strict=True):
            routes[edge] = [(x + left, y + top) for x, y in route]
    return Layout(boxes, routes, max(width - _AROUND, 0.0), max(height - _AROUND, 0.0))


class _Part(NamedTuple):
    """The numbers of nodes that edges connect, and those of the edges; or of the nodes that have none."""

    nodes: list[int]
    edges: list[int]


def _parts(graph: Graph) -> list[_Part]:
    """Return the parts that no edge connects with another; all nodes without edges are the last."""
    leader = [*range(len(graph.sizes))]

    def find(node: int) -> int:
        while leader[node] != node:
            leader[node] = node = leader[leader[node]]
        return node

    for first, last, _ in graph.edges:
        one, other = find(first), find(last)
        leader[max(one, other)] = min(one, other)
    parts: dict[int, _Part] = {}
    for number, (first, _, _) in enumerate(graph.edges):
        parts.setdefault(find(first), _Part([], [])).edges.append(number)
    alone = _Part([], [])
    for node in range(len(graph.sizes)):
        parts.get(find(node), alone).nodes.append(node)
    return [*parts.values(), *([alone] if alone.nodes else [])]


def _within(graph: Graph, of_part: _Part) -> Graph:
    """Return the graph of a part, with numbers of its own."""
    number = {node: place for place, node in enumerate(of_part.nodes)}
    edges = [graph.edges[edge] for edge in of_part.edges]
    return Graph(
        [graph.sizes[node] for node in of_part.nodes],
        [(number[first], number[last], style) for first, last, style in edges],
    )


def _drawn(parts: Sequence[Graph], place: Callable[[Graph, int, bool], Layout], goes_right: bool) -> list[Layout]:
    """Return the layout of each part; all share the bends that there may be."""
    size = sum(len(each.sizes) for each in parts)
    return [place(each, _BENDS * len(each.sizes) // size, goes_right) if each.edges else _loose(each) for each in parts]


def _sizes(drawn: Sequence[Layout]) -> list[tuple[float, float]]:
    return [(each.width + _AROUND, each.height + _AROUND) for each in drawn]


def _awkward(drawn: Sequence[Layout]) -> float:
    """Return how badly a drawing fits a screen."""
    return _misfit(_sizes(drawn))


def _misfit(sizes: Sequence[tuple[float, float]]) -> float:
    """Return how many screens long the parts are together, times the root of how many screens they fill."""
    _, width, height = packed(sizes)
    wide, high = width / _SCREEN[0], height / _SCREEN[1]
    return max(wide, high) * math.sqrt(wide * high)


def _goes_right(parts: Sequence[Graph]) -> bool:
    """Whether layers to the right fit a screen better than layers down, by the sizes of all boxes."""
    right, down = [], []
    for each in parts:
        rows: dict[int, list[tuple[float, float]]] = {}
        for size, number in zip(each.sizes, layers(each), strict=True):
            rows.setdefault(number, []).append(size)
        right.append(_estimate(rows, 0, 1))
        down.append(_estimate(rows, 1, 0)[::-1])
    return _misfit(right) <= _misfit(down)


def _estimate(rows: dict[int, list[tuple[float, float]]], along: int, across: int) -> tuple[float, float]:
    """Return how long and how broad the drawing of a part is, about."""
    length = sum(max(size[along] for size in row) + 2 * CLOSEST for row in rows.values())
    return length, max(sum(size[across] + BETWEEN_BOXES for size in row) for row in rows.values())


def _loose(graph: Graph) -> Layout:
    """Return boxes without edges, in columns."""
    spots, width, height = in_columns(graph.sizes, BETWEEN_BOXES)
    return Layout([Box(*spot, *size) for spot, size in zip(spots, graph.sizes, strict=True)], [], width, height)
