import itertools

from drawn import graphs_to_draw
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.layout.graph import Graph
from asyncstate.layout.layers import layered, layers


@given(graphs_to_draw(most=20), st.integers(0, 40))
def test_edges_lead_from_layer_to_layer_with_no_more_bends_than_allowed(graph, most):
    found = layered(graph, most)
    assert len(found.layer) - found.size <= most
    assert sorted(node for row in found.rows for node in row) == [*range(len(found.layer))]
    for (first, last, _), chain in zip(graph.edges, found.chains, strict=True):
        steps = [found.layer[node] for node in chain]
        assert steps == [*range(found.layer[first], found.layer[last] + 1)] if chain else steps == []
        assert all(after in found.after[node] for node, after in itertools.pairwise(chain))
    undrawn = [
        found.layer[last] - found.layer[first]
        for (first, last, _), chain in zip(graph.edges, found.chains, strict=True)
        if not chain
    ]
    assert min(undrawn, default=2) > 1


def test_a_node_stands_near_those_that_wait_for_it():
    edges = [(0, 1, ""), (1, 2, ""), (2, 3, ""), (4, 3, "")]
    assert layers(Graph([(1.0, 1.0)] * 5, edges)) == [0, 1, 2, 3, 2]


def test_edges_of_one_style_from_one_node_run_together():
    edges = [(node, node + 1, "") for node in range(5)] + [(0, 4, "a"), (0, 5, "a"), (0, 5, "b")]
    found = layered(Graph([(1.0, 1.0)] * 6, edges), 100)
    *_, short, long, other = found.chains
    assert short[:-1] == long[:4]
    assert set(other[1:-1]).isdisjoint(long)
    assert len(found.layer) == 6 + 4 + 4
