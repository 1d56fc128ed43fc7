"""The layout of a graph whose layers go to the right, or down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from asyncstate.layout.crossings import untangle
from asyncstate.layout.graph import Box, Layout
from asyncstate.layout.layers import Layered, layered
from asyncstate.layout.places import places

if TYPE_CHECKING:
    from asyncstate.layout.graph import Graph, Spot

_LINE = 2.0
CLOSEST = 36.0
_WIDEST = 150.0
"""Between two layers."""
_STEEPEST = 0.22
"""The distance of two layers as a part of how far an edge between them goes across."""
HEADER = 26.0
"""Above the boxes of a band, for its title."""
_FOOTER = 12.0


class _Frame(msgspec.Struct):
    """Where a layered graph is drawn, before its direction is chosen: along its layers, and across them."""

    graph: Layered
    middle: list[float]
    """Of each node, across."""
    starts: list[float]
    """Of each layer, along."""
    ends: list[float]
    bands: list[tuple[float, float]]


def part(graph: Graph, bends: int, goes_right: bool) -> Layout:
    """Return the layout of a graph in layers, with at most so many bends; bands go to the right."""
    along, across = (0, 1) if goes_right else (1, 0)
    frame = _frame(graph, bends, along, across)
    boxes = []
    for node, size in enumerate(graph.sizes):
        number = frame.graph.layer[node]
        # To the right, boxes begin in one line, as text does; downwards, the middles of low and high ones do.
        start = frame.starts[number] if goes_right else (frame.starts[number] + frame.ends[number] - size[along]) / 2
        spot = (start, frame.middle[node] - size[across] / 2)
        boxes.append(Box(spot[along], spot[across], *size))
    routes = []
    for chain in frame.graph.chains:
        route: list[Spot] = []
        if chain:
            first, last = boxes[chain[0]], boxes[chain[-1]]
            start = first.left + first.width if goes_right else first.top + first.height
            route = _route(frame, chain, start, last.left if goes_right else last.top)
        routes.append([(spot[along], spot[across]) for spot in route])
    size = (frame.ends[-1] if frame.ends else 0.0, sum(frame.bands[-1]) if frame.bands else 0.0)
    return Layout(boxes, routes, size[along], size[across], frame.bands if graph.bands else ())


def _frame(graph: Graph, bends: int, along: int, across: int) -> _Frame:
    """Return the places across and along."""
    found = layered(graph, bends)
    untangle(found)
    extents = [size[across] for size in graph.sizes] + [_LINE] * (len(found.layer) - len(graph.sizes))
    middle = [0.0] * len(extents)
    bands: list[tuple[float, float]] = []
    top = 0.0
    for band in range(max(found.band, default=-1) + 1):
        of_band = places(found, extents, band)
        first = top + (HEADER if graph.bands else 0.0)
        end = first
        for node, spot in of_band.items():
            middle[node] = first + spot
            end = max(end, middle[node] + extents[node] / 2)
        bands.append((top, end - top + (_FOOTER if graph.bands else 0.0)))
        top = sum(bands[-1])
    starts, ends = _columns(found, middle, [size[along] for size in graph.sizes])
    return _Frame(found, middle, starts, ends, bands)


def _columns(graph: Layered, middle: list[float], lengths: list[float]) -> tuple[list[float], list[float]]:
    """Return where each layer begins and ends: the more apart, the further across the edges between them go."""
    starts, ends = [], []
    start = 0.0
    for row in graph.rows:
        starts.append(start)
        ends.append(start + max((lengths[node] for node in row if not graph.is_bend(node)), default=0.0))
        far = max((abs(middle[node] - middle[other]) for node in row for other in graph.after[node]), default=0.0)
        start = ends[-1] + min(_WIDEST, max(CLOSEST, far * _STEEPEST))
    return starts, ends


def _route(frame: _Frame, chain: list[int], start: float, end: float) -> list[Spot]:
    """Return the control points of an edge, from the end of its first box at ``start`` to its last box at ``end``.

    It passes layers in a straight line, where no box is, and curves only between them.
    """
    spot = frame.middle[chain[0]]
    route = [(start, spot)]
    for node in chain[1:]:
        number = frame.graph.layer[node]
        spot = _straight(route, frame.ends[number - 1])[1]
        begin, aim = frame.starts[number], frame.middle[node]
        if spot == aim:
            _straight(route, begin)
        else:
            bend = (route[-1][0] + begin) / 2
            route += [(bend, spot), (bend, aim), (begin, aim)]
    _straight(route, end)
    return route


def _straight(route: list[Spot], end: float) -> Spot:
    """Lead a route straight on, as a curve of which all control points are in one line; return where it ends."""
    start, spot = route[-1]
    if end > start:
        third = (end - start) / 3
        route += [(start + third, spot), (end - third, spot), (end, spot)]
    return route[-1]
