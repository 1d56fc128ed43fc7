from hypothesis import given
from hypothesis import strategies as st
from strategies import high_data
from trees import ids, plan, sets_of, wired

from asyncstate.compile.graph.restrict import restrict
from asyncstate.model.plan import NodeKind


def kept(graph, wanted):
    """The nodes of some IDs and all that these wait for, with the target of each check."""
    found, more = set(), {node for node, draft in enumerate(graph.drafts) if draft.id in wanted}
    while more - found:
        found |= more
        more = {node for node, targets in enumerate(graph.after) if not found.isdisjoint(targets)}
        more |= {graph.chunk[node] for node in found if graph.kind[node] is NodeKind.CHECK}
    return found


@given(high_data(), st.integers(2, 3), st.data())
def test_what_the_ids_depend_on_is_kept_in_serial_order(high, threshold, data):
    with sets_of(threshold):
        graph, _, serial = wired(high)
    wanted = data.draw(st.lists(st.sampled_from([draft.id for draft in graph.drafts]), min_size=1, unique=True))
    expected = kept(graph, wanted)
    assert restrict(graph, serial, wanted, "SLS 's'") == [node for node in serial if node in expected]


def test_the_members_of_a_set_are_kept_and_nothing_beside_them():
    tree = """
t1: {test.nop: [{name: t}]}
t2: {test.nop: [{name: t}]}
a: {test.nop: [{require: [t]}]}
u1: {test.nop: [{name: u}]}
u2: {test.nop: [{name: u}]}
b: {test.nop: [{require: [u]}]}
"""
    with sets_of(2):
        assert ids(plan(tree, only_ids=["a"])) == ["t1", "t2", "a"]
