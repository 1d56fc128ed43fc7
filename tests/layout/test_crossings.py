from drawn import graphs_to_draw
from hypothesis import given

from asyncstate.layout.crossings import crossings, untangle
from asyncstate.layout.graph import Graph
from asyncstate.layout.layers import layered


def counted(graph):
    """The crossings by the definition: pairs of pieces whose ends stand in opposite orders."""
    place = {node: number for row in graph.rows for number, node in enumerate(row)}
    found = 0
    for row in graph.rows:
        pieces = [(place[node], place[other]) for node in row for other in graph.after[node]]
        found += sum(a < c and b > d for a, b in pieces for c, d in pieces)
    return found


@given(graphs_to_draw(most=20))
def test_crossings_are_counted_and_become_fewer(graph):
    found = layered(graph, 10_000)
    before = crossings(found)
    assert before == counted(found)
    nodes = [sorted(row) for row in found.rows]
    untangle(found)
    assert crossings(found) == counted(found) <= before
    assert [sorted(row) for row in found.rows] == nodes
    assert all([found.band[node] for node in row] == sorted(found.band[node] for node in row) for row in found.rows)


def test_a_planar_graph_is_drawn_as_one():
    mirrored = [(number, 19 - number, "") for number in range(10)] + [(number, 18 - number, "") for number in range(9)]
    found = layered(Graph([(10.0, 10.0)] * 20, mirrored), 0)
    assert crossings(found) > 100
    untangle(found)
    assert crossings(found) == 0
