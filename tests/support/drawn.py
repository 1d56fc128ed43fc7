"""What a drawing of a graph must hold, whatever the graph is."""

import random
from itertools import combinations

from hypothesis import strategies as st

from asyncstate.layout.graph import Graph

ALMOST = 0.001


@st.composite
def graphs_to_draw(draw, most=60):
    """An acyclic graph of boxes, sparse or dense; its nodes have numbers in no order, and it may be in bands.

    All but its size comes from a seed: lists that are drawn are mostly short, and then nearly nothing is to be untangled.
    """
    size = draw(st.integers(0, most))
    chance = random.Random(draw(st.integers(0, 1 << 32)))
    name = chance.sample(range(size), size)
    pairs = [sorted(chance.sample(range(size), 2)) for _ in range(chance.randrange(2 * size) if size > 1 else 0)]
    edges = {(name[first], name[last], chance.choice("xy")) for first, last in pairs}
    sizes = [(chance.randint(20, 300), chance.randint(20, 70)) for _ in range(size)]
    bands = [chance.randrange(4) for _ in range(size)] if chance.random() < 0.3 else []
    return Graph(sizes, sorted(edges), bands)


def assert_readable(graph, layout):
    """No two boxes overlap, no edge runs through a box or backwards, and all are within the drawing.

    A curve stays within the rectangle around its control points, so that must not meet a box.
    """
    boxes = [(box.left, box.top, box.left + box.width, box.top + box.height) for box in layout.boxes]
    assert [(box.width, box.height) for box in layout.boxes] == [*graph.sizes]
    assert not any(_meet(one, other) for one, other in combinations(boxes, 2))
    pieces = []
    for (first, last, _), route in zip(graph.edges, layout.routes, strict=True):
        across = {spot[1] for spot in (route[0], route[1])} == {route[0][1]}
        along = [spot[0 if across else 1] for spot in route]
        assert along == sorted(along)
        assert abs(along[0] - boxes[first][2 if across else 3]) < ALMOST
        assert abs(along[-1] - boxes[last][0 if across else 1]) < ALMOST
        pieces += [_around(route[place : place + 4]) for place in range(0, len(route) - 1, 3)]
    assert not any(_meet(piece, box) for piece in {*pieces} for box in boxes)
    assert all(
        left >= -ALMOST and top >= -ALMOST and right <= layout.width + ALMOST and bottom <= layout.height + ALMOST
        for left, top, right, bottom in [*boxes, *pieces]
    )
    for band, box in zip(graph.bands, boxes, strict=bool(graph.bands)):
        top, height = layout.bands[band]
        assert top <= box[1]
        assert box[3] <= top + height


def _around(spots):
    return min(x for x, _ in spots), min(y for _, y in spots), max(x for x, _ in spots), max(y for _, y in spots)


def _meet(one, other):
    return (
        one[0] < other[2] - ALMOST
        and other[0] < one[2] - ALMOST
        and one[1] < other[3] - ALMOST
        and other[1] < one[3] - ALMOST
    )
