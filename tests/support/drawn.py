"""What a drawing of a graph must hold, whatever the graph is."""

from itertools import combinations

from hypothesis import strategies as st

from asyncstate.layout.graph import Graph

ALMOST = 0.001


@st.composite
def graphs_to_draw(draw, most=60):
    """An acyclic graph of boxes; its nodes are numbered in no particular order, and it may be in bands."""
    size = draw(st.integers(0, most))
    name = draw(st.permutations(range(size)))
    pairs = draw(
        st.lists(st.tuples(st.integers(0, most), st.integers(0, most), st.sampled_from("xy")), max_size=2 * most)
    )
    edges = {(name[min(a, b)], name[max(a, b)], style) for a, b, style in pairs if a != b and max(a, b) < size}
    sizes = draw(st.lists(st.tuples(st.integers(20, 300), st.integers(20, 70)), min_size=size, max_size=size))
    bands = draw(st.just([]) | st.lists(st.integers(0, 3), min_size=size, max_size=size))
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
