import pytest
from trees import FakeStates, plan

from asyncstate.report.aggregate import aggregation, aggregation_lines

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


def test_lines():
    lines = list(aggregation_lines(plan(TREE, states=STATES, state_aggregate=True)))
    assert lines[0] == "pkg: 2 states, one call for those that may run"
    assert "Not aggregated" in lines
    assert lines[-1] == "      its own 'aggregate' says no"
    assert list(aggregation_lines(plan(TREE.replace("aggregate: false", "x: 1"), states=STATES))) == [
        "No state may be aggregated: see state_aggregate in the configuration, and aggregate on a state."
    ]
