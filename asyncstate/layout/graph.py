"""What is laid out, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

Spot = tuple[float, float]
"""A place in the drawing: right, down."""


class Graph(msgspec.Struct, frozen=True):
    """An acyclic graph: the width and height of each node, and its edges as (before, after, style).

    Edges of one style that come from one node may run together. ``bands`` has the number of the band that each node is
    drawn in, 0 first; without, the parts that nothing connects are drawn side by side.
    """

    sizes: Sequence[tuple[float, float]]
    edges: Sequence[tuple[int, int, str]]
    bands: Sequence[int] = ()


class Box(msgspec.Struct, frozen=True):
    """The place of a node."""

    left: float
    top: float
    width: float
    height: float


class Layout(msgspec.Struct, frozen=True):
    """A graph with all its places.

    ``routes`` has for each edge the control points of cubic curves that join, 3 n + 1 of them; it is empty if the edge
    is too long to be drawn. ``bands`` has the top and the height of each.
    """

    boxes: Sequence[Box]
    routes: Sequence[Sequence[Spot]]
    width: float
    height: float
    bands: Sequence[tuple[float, float]] = ()
