from __future__ import annotations

import pytest

from asyncstate.model.forecast import Foretold, forecast, forecast_text
from asyncstate.model.result import RunReport
from tests.support.plans import PlanBuilder

CHANGE, TRIGGERED, UNKNOWN = Foretold


def row(result=None, changes=None, **more):
    return {"name": "n", "result": result, "changes": changes or {}, "comment": "", **more}


CHANGED = row(changes={"a": 1})
OK = row(True)
NOT_RUN = row(True, __state_ran__=False)


def foretold(builder, rows, **fields):
    plan = builder.build()
    tags = {chunk.id: chunk.tag for chunk in plan.chunks}
    report = RunReport(rows={tags[id_]: each for id_, each in rows.items()}, test=True, **fields)
    names = {tag: id_ for id_, tag in tags.items()}
    return {names.get(tag, tag): each for tag, each in forecast(report, plan).items()}


def test_what_depends_on_an_earlier_state_cannot_be_told():
    builder = PlanBuilder().chunk("a").chunk("b", watch=["a"])
    assert foretold(builder, {"a": CHANGED, "b": row(__not_told__=True)}) == {"a": CHANGE, "b": UNKNOWN}
    assert forecast(RunReport(rows={"b": row(__not_told__=True)}, test=True), None) == {"b": UNKNOWN}


@pytest.mark.parametrize(
    ("requisites", "target", "mine", "expected"),
    [
        ({}, CHANGED, CHANGED, CHANGE),
        ({"require": ["a"]}, CHANGED, CHANGED, CHANGE),
        ({"onchanges": ["a"]}, CHANGED, CHANGED, TRIGGERED),
        ({"onchanges_any": ["a"]}, CHANGED, row(), TRIGGERED),
        ({"prereq": ["a"]}, CHANGED, CHANGED, TRIGGERED),
        ({"watch": ["a"]}, CHANGED, row(), TRIGGERED),
        ({"watch": ["a"]}, CHANGED, CHANGED, CHANGE),
        ({"watch": ["a"]}, OK, row(), CHANGE),
        ({"onchanges": ["a"]}, OK, NOT_RUN, None),
        ({"watch": ["a"]}, OK, OK, None),
        ({"require": ["a"]}, row(), OK, None),
        ({"onchanges": ["a"]}, row(), row(False), None),
        ({"onfail": ["a"]}, row(), CHANGED, UNKNOWN),
        ({"onfail_any": ["a"]}, row(False), CHANGED, CHANGE),
    ],
)
def test_why_a_state_would_change_decides(requisites, target, mine, expected):
    builder = PlanBuilder().chunk("a", "file.managed").chunk("b", "service.running", **requisites)
    assert foretold(builder, {"a": target, "b": mine}).get("b") is expected


@pytest.mark.parametrize(
    ("function", "args", "expected"),
    [
        ("cmd.run", {}, UNKNOWN),
        ("cmd.run", {"unless": "true"}, CHANGE),
        ("cmd.run", {"creates": "/x"}, CHANGE),
        ("cmd.run", {"stateful": True}, UNKNOWN),
        ("cmd.run", {"stateful": [{"test_name": "x"}]}, CHANGE),
        ("module.run", {"test.ping": []}, UNKNOWN),
        ("file.managed", {}, CHANGE),
    ],
)
def test_a_command_without_a_condition_cannot_be_told(function, args, expected):
    assert foretold(PlanBuilder().chunk("a", function, args=args), {"a": CHANGED}) == {"a": expected}


def test_a_wait_and_a_listener_are_triggered():
    builder = PlanBuilder().chunk("a", "file.managed").chunk("w", "cmd.wait", watch=["a"]).listen("w", "a")
    plan = builder.build()
    tags = [chunk.tag for chunk in plan.chunks] + [plan.listeners[0].label]
    report = RunReport(rows=dict.fromkeys(tags, CHANGED), test=True)
    assert list(forecast(report, plan).values()) == [CHANGE, TRIGGERED, TRIGGERED]


def test_of_a_listener_to_what_shows_no_changes_nothing_can_be_told():
    """But its own mod_watch at the end of the run triggers no other listener."""
    builder = PlanBuilder().chunk("a", "cmd.script").chunk("w", "cmd.wait").chunk("x").listen("w", "a").listen("x", "w")
    assert foretold(builder, {"a": row(), "w": OK, "x": OK}) == {"a": UNKNOWN, "w": UNKNOWN}
    assert foretold(builder, {"a": OK, "w": OK, "x": OK}) == {}


def test_nothing_is_foretold_of_a_run_that_does_it_or_without_a_plan():
    report = RunReport(rows={"a": CHANGED, "b": OK})
    assert forecast(report, None) == {}
    assert forecast(RunReport(rows=report.rows, test=True), None) == {"a": CHANGE}


def test_counts_in_words():
    assert forecast_text({}) == ""
    assert forecast_text({UNKNOWN: 1, "to change": 2}) == "2 to change, 1 cannot be told"
