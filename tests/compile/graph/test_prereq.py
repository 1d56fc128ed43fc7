from trees import chunk_of, plan

from asyncstate.model.requisite import RequisiteKind

TREE = "a: {test.nop: [{prereq: [{test: b}]}]}\nb: {test.nop: [{require: [c]}]}\nc: test.nop\n"


def test_a_prereq_of_a_whole_sls_has_a_check_for_each_state():
    tree = {
        "s": "include: [t]\na: {test.nop: [{prereq: [{sls: t}]}]}\n",
        "t": "".join(f"t{i}: test.nop\n" for i in range(12)),
    }
    compiled = plan(tree)
    kinds = [requisite.kind for requisite in compiled.requisites[chunk_of(compiled, "a").index]]
    assert kinds == [RequisiteKind.PREREQ] * 12


def test_lowstate_has_the_target_where_it_is_checked_and_where_it_runs():
    lowstate = plan(TREE).lowstate()
    assert [low["__id__"] for low in lowstate] == ["c", "b", "a", "b"]
    assert [low.get("__prereq__") for low in lowstate] == [None, True, None, True]
    assert [low.get("__prerequiring__") for low in lowstate] == [None, None, True, None]
