import time

import pytest
from record_answers import recorded
from trees import compiler, mistakes

from asyncstate.errors import CycleError

CYCLES = {tree: told for tree, told in recorded("low").items() if "Recursive requisites" in str(told)}


@pytest.mark.parametrize(("tree", "told"), CYCLES.items())
def test_the_message_is_salts_and_the_hint_has_the_places(tree, told):
    [issue] = mistakes(tree)
    assert [issue.message] == told
    lines = issue.hint.splitlines()
    assert lines[0] == "the shortest cycle:"
    assert lines[1].strip().startswith("s:c (")
    assert lines[1].endswith("s.sls:1) (require)")
    assert issue.line == 3


def test_the_hint_is_the_shortest_cycle_though_another_is_found_first():
    tree = """
a: {test.nop: [{require: [c]}]}
b: {test.nop: [{require: [a]}]}
c: {test.nop: [{require: [b]}]}
d: {test.nop: [{require: [d2]}]}
d2: {test.nop: [{require: [d]}]}
"""
    [issue] = mistakes(tree)
    assert "'ID': 'a'" in issue.message
    assert "'ID': 'd'" not in issue.message
    assert len(issue.hint.splitlines()) == 3


def test_the_search_comes_back_from_where_there_is_no_cycle():
    tree = """
a: test.nop
b: {test.nop: [{require: [a]}]}
c: {test.nop: [{require: [a, b]}]}
d: {test.nop: [{require: [c, f]}]}
e: {test.nop: [{require: [d]}]}
f: {test.nop: [{require: [e]}]}
g: {test.nop: [{require: [f]}]}
"""
    [issue] = mistakes(tree)
    assert issue.message.count("'require'") == 3
    assert "'ID': 'a'" not in issue.message


def test_a_cycle_through_a_set_does_not_name_the_set():
    lib = "".join(f"l{i}: test.nop\n" for i in range(10))
    tree = {
        "s": "include: [t]\na: {test.nop: [{watch: [{sls: t}]}]}\n",
        "t": f"{lib}last: {{test.nop: [{{require: [a]}}]}}\n",
    }
    [issue] = mistakes(tree)
    assert issue.message == (
        "Recursive requisites were found: ({'SLS': 't', 'ID': 'last'}, 'require', {'SLS': 's', 'ID': 'a'}), "
        "({'SLS': 's', 'ID': 'a'}, 'watch', {'SLS': 't', 'ID': 'last'})"
    )


def test_missing_states_are_reported_beside_the_cycle():
    tree = "a: {test.nop: [{require: [b, gone]}]}\nb: {test.nop: [{require: [a]}]}\n"
    assert [issue.message.split(":")[0] for issue in mistakes(tree)] == [
        "Referenced state does not exist for requisite [require",
        "Recursive requisites were found",
    ]


def high(count, requires):
    return {
        f"s{i}": {"test": ["nop", {"require": [{"test": f"s{requires(i)}"}]}], "__sls__": "s", "__env__": "base"}
        for i in range(count)
    }


@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_cycle_of_very_many_states_is_reported_in_seconds(count):
    chain = high(count, lambda i: i - 1)
    del chain["s0"]["test"][1]
    began = time.process_time()
    compiler({}).plan_high(chain)
    planned = time.process_time()
    with pytest.raises(CycleError) as caught:
        compiler({}).plan_high(high(count, lambda i: (i + 1) % count))
    assert time.process_time() - planned < 4 * (planned - began)
    [issue] = caught.value.issues
    assert issue.message.count("'require'") == 20
    assert issue.message.endswith(f"… and {count - 20} more")
    assert f"… {count - 20} more, and back to s:s0" in issue.hint


def test_a_requisite_of_a_whole_id_that_names_one_of_its_states():
    hint = "'require' stands directly under ID 'web', so each of its states has it, test too"
    [issue] = mistakes("web:\n  test.nop: []\n  cmd.run: []\n  require: [{test: web}]\n")
    assert hint in issue.hint
    [issue] = mistakes("web:\n  test.nop: [{require: [{test: web}]}]\n  cmd.run: []\n")
    assert "directly" not in issue.hint
    assert "'require' names test: web itself" in issue.hint
    [issue] = mistakes("web:\n  test.nop: [{require: [web]}]\n  cmd.run: []\n")
    assert "An ID alone, or a name, means all states that have it" in issue.hint
