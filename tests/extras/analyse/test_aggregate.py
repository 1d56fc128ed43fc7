import pytest
from trees import FakeStates, plan

from asyncstate.extras.analyse.aggregate import NONE, aggregation, aggregation_lines

STATES = FakeStates("pkg.mod_aggregate", "test.mod_watch")
TREE = """
a: pkg.installed
b: pkg.installed
c: {pkg.installed: [{require: [a]}]}
d: {pkg.installed: [{aggregate: false}]}
"""


def ids(states):
    return [state["tag"].split("_|-")[1] for state in states]


@pytest.mark.feature("F166")
def test_groups_and_refusals():
    facts = aggregation(plan(TREE, states=STATES, state_aggregate=True))
    assert [(group["module"], ids(group["members"])) for group in facts["groups"]] == [("pkg", ["a", "b"])]
    assert ids(facts["refused"]) == ["c", "d"]
    assert "s:a" in facts["refused"][0]["why"]
    assert facts["refused"][1]["why"] == "its own 'aggregate' says no"
    assert facts["refused"][1]["place"].endswith("s.sls:5")


def test_states_of_another_function_are_another_call():
    tree = "a: pkg.installed\nb: pkg.latest\nc: pkg.removed\nd: pkg.installed\n"
    facts = aggregation(plan(tree, states=STATES, state_aggregate=True))
    assert [(call["function"], ids(call["members"])) for call in facts["groups"][0]["calls"]] == [
        ("pkg.installed", ["a", "d"]),
        ("pkg.latest", ["b"]),
        ("pkg.removed", ["c"]),
    ]
    lines = list(aggregation_lines(plan(tree, states=STATES, state_aggregate=True)))
    assert lines[0] == "pkg: 4 states, 3 calls for those that may run"
    assert lines[1] == "  pkg.installed: 2 states"


def test_lines():
    lines = list(aggregation_lines(plan(TREE, states=STATES, state_aggregate=True)))
    assert lines[0] == "pkg: 2 states, 1 call for those that may run"
    assert "Not aggregated" in lines
    assert lines[-1] == "      its own 'aggregate' says no"
    assert list(aggregation_lines(plan(TREE.replace("aggregate: false", "x: 1"), states=STATES))) == [NONE]


@pytest.mark.parametrize("option", [False, ["test"]])
def test_a_module_that_cannot_be_aggregated_is_named_where_somebody_asked_for_it(option):
    compiled = plan("x: {test.nop: [{aggregate: true}]}\ny: test.nop\n", states=STATES, state_aggregate=option)
    refused = aggregation(compiled)["refused"]
    assert {state["why"] for state in refused} == {"test states cannot be aggregated: the module has no mod_aggregate"}
    assert "x" in ids(refused)


def test_a_transaction_says_that_it_was_formed_by_default():
    hooks = {"pkg.mod_transaction": lambda low, first: ""}
    compiled = plan("a: pkg.installed\nb: pkg.installed\n", states=FakeStates(hooks=hooks), implicit_order="footprint")
    assert [group["transaction"] for group in aggregation(compiled)["groups"]] == [True]
    assert next(aggregation_lines(compiled)) == "pkg: 2 states, 1 transaction by default, each in its own place"


def test_a_second_transaction_names_what_keeps_it_apart():
    tree = "a: pkg.installed\nb: pkg.installed\nx: {test.nop: [{require: [b]}]}\nc: {pkg.installed: [{require: [x]}]}\nd: pkg.installed\n"
    hooks = {"pkg.mod_transaction": lambda low, first: ""}
    compiled = plan(tree, states=FakeStates(hooks=hooks), implicit_order="footprint")
    facts = aggregation(compiled)
    assert [ids(group["members"]) for group in facts["groups"]] == [["a", "b"], ["c", "d"]]
    assert facts["refused"] == []
    first, second = (group["apart"] for group in facts["groups"])
    assert first == ""
    assert second.startswith("it waits for s:x (")
    assert f"  not with the states before: {second}" in list(aggregation_lines(compiled))
