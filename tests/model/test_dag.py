import itertools
import time

import pytest
from hypothesis import given
from strategies import graphs

from asyncstate.model.dag import Dag, Edge


def dag(size, edges):
    graph = Dag(size)
    for before, after in edges:
        graph.add(before, after, "require")
    return graph


def test_edges_are_kept_once_for_each_source_in_order():
    graph = Dag(2)
    new = graph.add_node()
    for source in ("require", "watch", "require"):
        graph.add(0, new, source)
    graph.add(1, 0, "stage")
    assert list(graph.edges()) == [Edge(0, 2, "require"), Edge(0, 2, "watch"), Edge(1, 0, "stage")]
    assert graph.sources(0, 2) == ("require", "watch")
    assert graph.sources(2, 0) == ()
    assert (list(graph.successors(0)), list(graph.predecessors(2))) == ([2], [0])
    assert graph.in_degrees() == [1, 0, 1]
    assert [sources for _, sources in graph.packed()] == [("require", "watch"), ("stage",)]


def test_a_footprint_knows_what_it_is_about():
    graph = Dag(3)
    graph.add(0, 1, "require")
    graph.add(0, 1, "footprint", ("pkgdb",))
    graph.add(0, 1, "footprint", ("path:/x", "pkgdb"))
    graph.add(1, 2, "stage")
    assert graph.resources(0, 1) == ("pkgdb", "path:/x")
    assert graph.resources(1, 2) == ()
    assert list(graph.edges()) == [
        Edge(0, 1, "require"),
        Edge(0, 1, "footprint", ("pkgdb", "path:/x")),
        Edge(1, 2, "stage"),
    ]


def test_renamed_resources_leave_the_graph_as_it_is():
    graph = Dag(2)
    graph.add(0, 1, "footprint", ("path:/secret",))
    shown = graph.renamed(lambda before, after, names: tuple(f"{before}{after}{name[:5]}" for name in names))
    assert shown.resources(0, 1) == ("01path:",)
    assert graph.resources(0, 1) == ("path:/secret",)
    assert (shown.size, shown.sources(0, 1), list(shown.successors(0))) == (2, ("footprint",), [1])
    assert list(shown.packed()) == list(graph.packed())


def test_topological_order_takes_the_smallest_key_that_is_free():
    graph = dag(4, [(3, 0), (1, 2)])
    assert graph.topological_order(lambda node: node) == [1, 2, 3, 0]
    assert graph.topological_order(lambda node: -node) == [3, 1, 2, 0]
    assert dag(2, [(0, 1), (1, 0)]).topological_order(lambda node: node) == []


def test_critical_path():
    assert dag(4, [(0, 1), (0, 2), (1, 3), (2, 3)]).critical_path([1, 1, 5, 1]) == (7, [0, 2, 3])
    assert Dag().critical_path([]) == (0.0, [])
    assert Dag(2).critical_path([1, 3]) == (3, [1])


@given(graphs())
def test_topological_order_is_one_exactly_where_there_is_no_cycle(drawn):
    size, edges = drawn
    graph = dag(size, edges)
    order = graph.topological_order(lambda node: node)
    cycle = graph.find_cycle()
    assert (len(order) == size) == (not cycle)
    place = {node: position for position, node in enumerate(order)}
    assert all(place[before] < place[after] for before, after in edges if after in place)


@given(graphs(max_size=6))
def test_the_cycle_found_is_a_shortest_one(drawn):
    size, edges = drawn
    cycle = dag(size, edges).find_cycle()
    steps = set(edges)
    assert all((one, other) in steps for one, other in zip(cycle, cycle[1:] + cycle[:1], strict=True))
    for length in range(1, len(cycle) or size + 1):
        for nodes in itertools.permutations(range(size), length):
            assert not all((one, other) in steps for one, other in zip(nodes, nodes[1:] + nodes[:1], strict=True))


@pytest.mark.parametrize("step", [1, 7])
def test_long_cycles_are_found_without_recursion(step):
    size = 50_000
    began = time.process_time()
    cycle = dag(size, [(node, (node + step) % size) for node in range(size)]).find_cycle()
    assert len(cycle) == size
    assert time.process_time() - began < 10


def test_many_small_cycles_give_an_answer_at_once():
    cycle = dag(50_000, [(node, node ^ 1) for node in range(50_000)]).find_cycle()
    assert cycle == [0, 1]


@pytest.mark.parametrize(
    ("size", "given", "found"),
    [
        (0, [], []),
        (3, [(0, 1), (1, 2)], [[0], [1], [2]]),
        (3, [(0, 1), (1, 0), (1, 2)], [[0, 1], [2]]),
        (5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3)], [[0, 1, 2], [3, 4]]),
        (4, [(3, 2), (2, 1), (1, 3), (0, 0)], [[0], [1, 2, 3]]),
    ],
)
def test_components_are_those_nodes_that_reach_one_another(size, given, found):
    components = dag(size, given).components()
    assert sorted(map(sorted, components)) == found
    place = {node: number for number, each in enumerate(components) for node in each}
    assert all(place[before] <= place[after] for before, after in given)


@pytest.mark.parametrize(
    ("asked", "unordered"),
    [
        (set(), set()),
        ({(0, 1)}, set()),
        ({(0, 2), (2, 0)}, set()),
        ({(0, 3), (1, 3), (2, 3)}, {(0, 3), (1, 3), (2, 3)}),
        ({(2, 1), (3, 1)}, {(3, 1)}),
    ],
)
def test_pairs_without_a_path_between_them(asked, unordered):
    assert dag(4, [(0, 1), (1, 2)]).unordered(asked) == unordered


def test_pairs_of_many_nodes_are_looked_at_in_blocks():
    size = 700
    chain = dag(size, [(node, node + 1) for node in range(size - 2)])
    asked = {(node, (node * 7) % size) for node in range(size) if node != (node * 7) % size}
    assert chain.unordered(asked) == {pair for pair in asked if size - 1 in pair}
