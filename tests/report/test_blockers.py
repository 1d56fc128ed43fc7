"""The requisite that held a state back, in words for people."""

from __future__ import annotations

import pytest
from plans import PlanBuilder
from trees import FakeStates
from trees import plan as compiled

from asyncstate.model.result import RunReport
from asyncstate.report.blockers import held_back

BAD = {"result": False, "changes": {}, "comment": ""}
HELD = {**BAD, "__state_ran__": False}
OK = {**BAD, "result": True}


def told(builder, rows):
    """Return the words for the state ``b``, "" if there are none."""
    plan = builder.build()
    tags = {chunk.id: chunk.tag for chunk in plan.chunks}
    report = RunReport(rows={tags[id_]: row for id_, row in rows.items()})
    return held_back(report, plan).get(tags["b"], "")


@pytest.mark.parametrize(
    ("requisites", "target", "expected"),
    [
        ({"require": ["a"]}, BAD, "requires pkg: a, which failed"),
        ({"require_any": ["a"]}, BAD, "requires pkg: a, which failed"),
        ({"watch": ["a"]}, HELD, "watches pkg: a, which was held back"),
        ({"prereq": ["a"]}, BAD, "has the prereq pkg: a, which failed"),
        ({"require": ["a"]}, OK, ""),
        ({"onchanges": ["a"]}, BAD, ""),
    ],
)
def test_the_words_follow_the_requisite_and_what_became_of_its_target(requisites, target, expected):
    builder = PlanBuilder().chunk("a", "pkg.installed").chunk("b", **requisites)
    assert told(builder, {"a": target, "b": HELD}) == expected


def test_a_state_that_failed_of_itself_is_named_before_one_that_was_held_back():
    builder = PlanBuilder().chunk("x").chunk("a").chunk("b", require=["x"], watch=["a"])
    assert told(builder, {"x": HELD, "a": BAD, "b": HELD}) == "watches test: a, which failed (and 1 more)"


def test_a_set_of_states_is_told_by_the_one_that_failed():
    builder = PlanBuilder().chunk("x").chunk("a").chunk("b", require=["web"]).set("web", "x", "a")
    assert told(builder, {"x": OK, "a": BAD, "b": HELD}) == "requires test: a, which failed"


def test_two_states_that_are_held_back_together_do_not_explain_each_other():
    builder = PlanBuilder().chunk("x").chunk("a", prereq=["b"]).chunk("b", require=["x"])
    assert told(builder, {"x": BAD, "a": HELD, "b": HELD}) == "requires test: x, which failed"


def test_without_a_plan_nothing_is_told_and_what_ran_needs_no_words():
    assert held_back(RunReport(rows={"a": HELD}), None) == {}
    assert told(PlanBuilder().chunk("a").chunk("b", require=["a"]), {"a": BAD, "b": BAD}) == ""


def test_what_only_shares_a_call_with_a_member_of_a_set_is_not_to_blame():
    """Aggregation lets whoever waits for one member of a group wait for the last, and so do sets."""
    first = "a: pkg.installed\n" + "".join(f"t{number}: test.nop\n" for number in range(8))
    tree = {"m": first, "s": "include: [m]\nb: pkg.installed\nc: {test.nop: [{require: [{sls: m}]}]}\n"}
    made = compiled(tree, states=FakeStates("pkg.mod_aggregate"), state_aggregate=True)
    tags = {chunk.id: chunk.tag for chunk in made.chunks}
    rows = dict.fromkeys(tags.values(), OK) | {tags["c"]: HELD}
    assert held_back(RunReport(rows=rows | {tags["a"]: BAD}), made) == {tags["c"]: "requires pkg: a, which failed"}
    assert held_back(RunReport(rows=rows | {tags["b"]: BAD}), made) == {}
