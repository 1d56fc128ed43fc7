import pytest
from drawn import assert_readable, graphs_to_draw
from hypothesis import given

from asyncstate.layout import whole
from asyncstate.layout.graph import Graph
from asyncstate.layout.whole import layout

BOX = (100.0, 24.0)


@given(graphs_to_draw())
def test_every_graph_is_readable_and_always_drawn_alike(graph):
    found = layout(graph)
    assert_readable(graph, found)
    assert layout(graph) == found


def test_a_chain_of_broad_boxes_goes_down_and_a_fan_of_them_to_the_right():
    chain = layout(Graph([BOX] * 30, [(node, node + 1, "") for node in range(29)]))
    assert [box.top for box in chain.boxes] == sorted({box.top for box in chain.boxes})
    fan = layout(Graph([BOX] * 30, [(0, node, "") for node in range(1, 30)]))
    assert {box.left for box in fan.boxes[1:]} == {fan.boxes[1].left}
    assert fan.boxes[0].left < fan.boxes[1].left


def test_parts_stand_side_by_side_and_what_has_no_edges_in_columns():
    parts = [(2 * number, 2 * number + 1, "") for number in range(20)]
    found = layout(Graph([BOX] * 140, parts))
    assert 0.5 < found.width / found.height < 3
    assert len({box.left for box in found.boxes[40:]}) < 15


def test_long_edges_are_straight():
    edges = [(node, node + 1, "") for node in range(10)]
    found = layout(Graph([BOX] * 11, [*edges, (0, 10, "long")]))
    between = found.routes[-1][3:-3]
    assert len(between) > 20
    assert 1 in {len({x for x, _ in between}), len({y for _, y in between})}


def test_a_large_graph_is_drawn_without_its_longest_edges(monkeypatch):
    monkeypatch.setattr(whole, "_BENDS", 300)
    chain = [(node, node + 1, "") for node in range(399)]
    graph = Graph([BOX] * 400, [*chain, (0, 30, ""), (50, 250, ""), (60, 360, ""), (7, 90, "")])
    found = layout(graph)
    assert [graph.edges[place][:2] for place, route in enumerate(found.routes) if not route] == [(50, 250), (60, 360)]
    drawn = [place for place, route in enumerate(found.routes) if route]
    shorter = Graph(graph.sizes, [graph.edges[place] for place in drawn])
    assert_readable(
        shorter, type(found)(found.boxes, [found.routes[place] for place in drawn], found.width, found.height)
    )


def test_a_cycle_is_refused():
    with pytest.raises(ValueError, match="cycle"):
        layout(Graph([BOX] * 2, [(0, 1, ""), (1, 0, "")]))
