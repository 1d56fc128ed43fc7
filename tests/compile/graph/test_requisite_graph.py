from hypothesis import given
from hypothesis import strategies as st
from strategies import graphs
from tables import rows
from trees import bare_graph

from asyncstate.compile.graph.requisite_graph import (
    GROUP_MEMBER,
    KIND_BITS,
    KIND_MASK,
    KINDS,
    PREREQ,
    PREREQUIRED,
    REQUIRE,
    SET_MEMBER,
)
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind


@rows(
    ("number", "kind"),
    [(REQUIRE, RequisiteKind.REQUIRE), (PREREQ, RequisiteKind.PREREQ), (PREREQUIRED, RequisiteKind.PREREQUIRED)],
)
def test_the_kind_of_an_edge_is_the_weight_of_its_requisite(number, kind):
    assert KINDS[number] is kind


def test_every_kind_has_a_number_that_fits_beside_a_node():
    assert len({*range(len(KINDS)), SET_MEMBER, GROUP_MEMBER}) == len(KINDS) + 2
    assert GROUP_MEMBER <= KIND_MASK == 2**KIND_BITS - 1


@given(graphs(), st.data())
def test_edges_are_kept_with_their_kinds_in_the_order_they_were_added(shape, data):
    size, joined = shape
    graph = bare_graph(size)
    added = [(before, after, data.draw(st.integers(0, GROUP_MEMBER))) for before, after in joined]
    for edge in added:
        graph.add_edge(*edge)
    for node in range(size):
        assert graph.after[node] == [after for before, after, _ in added if before == node]
        assert graph.kinds[node] == [kind for before, _, kind in added if before == node]
        assert list(graph.edges_from(node)) == [(after, kind) for before, after, kind in added if before == node]
        assert graph.in_degrees()[node] == sum(after == node for _, after, _ in added)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 99), st.sampled_from(range(len(KINDS))))))
def test_a_draft_has_each_requisite_once(wanted):
    graph, found = bare_graph(3), {}
    for number, node, kind in wanted:
        assert graph.require(number, node, kind) is ((kind, node) not in found.setdefault(number, {}))
        found[number][kind, node] = None
    for number in range(3):
        assert list(graph.requisites_of(number)) == list(found.get(number, ()))
    assert graph.requisites.keys() == found.keys(), "most drafts have none, and no table"


def test_a_node_behind_the_drafts_stands_for_a_draft_or_for_none():
    graph = bare_graph(2)
    assert graph.add_node(NodeKind.CHECK, 1) == 2
    assert graph.add_node(NodeKind.GROUP) == 3
    assert graph.chunk == [0, 1, 1, -1]
    assert graph.kind == [NodeKind.CHUNK, NodeKind.CHUNK, NodeKind.CHECK, NodeKind.GROUP]
    assert graph.after == graph.kinds == [[], [], [], []]
    assert graph.check_of == {}
    graph.add_edge(2, 3, GROUP_MEMBER)
    assert graph.after == [[], [], [3], []]


def test_a_set_waits_for_its_members():
    graph = bare_graph(3)
    assert graph.add_set((0, 2), "sls: t") == 3
    assert graph.kind[3] is NodeKind.SET
    assert graph.chunk[3] == -1
    assert (graph.members, graph.label) == ({3: (0, 2)}, {3: "sls: t"})
    assert graph.after == [[3], [], [3], []]
    assert graph.kinds == [[SET_MEMBER], [], [SET_MEMBER], []]


def test_drafts_are_seen_once_where_their_check_or_they_come_first():
    graph = bare_graph(3)
    check, group = graph.add_node(NodeKind.CHECK, 2), graph.add_node(NodeKind.GROUP)
    assert graph.seen_in([1, check, group, 0, 2]) == [1, 2, 0]


def test_an_empty_graph_keeps_what_nodes_are():
    graph = bare_graph(3)
    graph.require(0, graph.add_set((1, 2), "sls: t"), REQUIRE)
    graph.empty()
    assert not any((graph.drafts, graph.requisites, graph.after, graph.kinds))
    assert (graph.chunk, graph.kind[3], graph.members, graph.label) == (
        [0, 1, 2, -1],
        NodeKind.SET,
        {3: (1, 2)},
        {3: "sls: t"},
    )
