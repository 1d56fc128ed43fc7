from reached import node_of_check
from trees import chunk_of, edges, messages, plan, requisites

from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind


def serial(compiled):
    """Chunks and checks (``?id``) in serial order."""
    timed = [
        (compiled.rank[number], ("?" if node.kind is NodeKind.CHECK else "") + compiled.chunks[node.chunk].id)
        for number, node in enumerate(compiled.nodes)
        if node.kind in {NodeKind.CHUNK, NodeKind.CHECK}
    ]
    return [name for _, name in sorted(timed)]


TREE = "a: {test.nop: [{prereq: [{test: b}]}]}\nb: {test.nop: [{require: [c]}]}\nc: test.nop\n"


def test_the_target_is_checked_before_and_runs_after():
    compiled = plan(TREE)
    assert serial(compiled) == ["c", "?b", "a", "b"]
    assert edges(compiled) == {("c", "b"), ("c", "?b"), ("?b", "a"), ("a", "b")}
    assert requisites(compiled, "a") == [("prereq", "?b")]
    assert requisites(compiled, "b") == [("prerequired", "a"), ("require", "c")]
    assert node_of_check(compiled, chunk_of(compiled, "b").index) == len(compiled.chunks)
    assert node_of_check(compiled, chunk_of(compiled, "a").index) is None


def test_requisites_resolved_before_the_check_was_made_hold_for_it_too():
    compiled = plan("b: {test.nop: [{require: [c]}]}\nc: test.nop\na: {test.nop: [{prereq: [{test: b}]}]}\n")
    assert ("c", "?b") in edges(compiled)


def test_two_states_share_the_check_of_their_target():
    compiled = plan("a: {test.nop: [{prereq: [b]}]}\nd: {test.nop: [{prereq: [b]}]}\nb: test.nop\n")
    assert serial(compiled) == ["?b", "a", "d", "b"]
    assert sum(node.kind is NodeKind.CHECK for node in compiled.nodes) == 1


def test_a_chain_declared_outer_first_is_checked_from_its_end():
    parts = ["a: {test.nop: [{prereq: [b]}]}\n", "b: {test.nop: [{prereq: [c]}]}\n", "c: test.nop\n"]
    assert serial(plan("".join(parts))) == ["?c", "?b", "a", "b", "c"]


def test_in_a_chain_declared_inner_first_the_middle_is_checked_alone():
    compiled = plan("b: {test.nop: [{prereq: [c]}]}\na: {test.nop: [{prereq: [b]}]}\nc: test.nop\n")
    assert serial(compiled) == ["?b", "a", "?c", "b", "c"]


def test_a_prereq_of_a_whole_sls_has_a_check_for_each_state():
    tree = {
        "s": "include: [t]\na: {test.nop: [{prereq: [{sls: t}]}]}\n",
        "t": "".join(f"t{i}: test.nop\n" for i in range(12)),
    }
    compiled = plan(tree)
    kinds = [requisite.kind for requisite in compiled.requisites[chunk_of(compiled, "a").index]]
    assert kinds == [RequisiteKind.PREREQ] * 12


def test_mutual_prereqs_and_a_requisite_the_other_way_are_cycles():
    mutual = "a: {test.nop: [{prereq: [b]}]}\nb: {test.nop: [{prereq: [a]}]}\n"
    assert "'prereq'" in messages(mutual)[0]
    both = "a: {test.nop: [{prereq: [b]}]}\nb: {test.nop: [{require_in: [a]}]}\n"
    assert messages(both)[0].startswith("Recursive requisites were found: ")


def test_lowstate_has_the_target_where_it_is_checked_and_where_it_runs():
    lowstate = plan(TREE).lowstate()
    assert [low["__id__"] for low in lowstate] == ["c", "b", "a", "b"]
    assert [low.get("__prereq__") for low in lowstate] == [None, True, None, True]
    assert [low.get("__prerequiring__") for low in lowstate] == [None, None, True, None]
