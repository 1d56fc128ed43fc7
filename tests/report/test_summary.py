from __future__ import annotations

import pytest
from messages import said
from tables import beside

from asyncstate.model.forecast import Foretold
from asyncstate.model.result import RunReport
from asyncstate.report.summary import applied_lines, closing_lines, describe_tag, summary_lines

TABLES = beside(__file__)


def row(result=True, changes=None, **more):
    return {"name": "n", "result": result, "changes": changes or {}, "comment": "", **more}


def tags(number):
    return [f"test_|-id{n}_|-id{n}_|-nop" for n in range(number)]


def summary(rows, foretold=None, **fields):
    report = RunReport(rows=dict(zip(tags(len(rows)), rows, strict=True)), **fields)
    return list(summary_lines(report, foretold=foretold))


@pytest.mark.feature("F154")
def test_counts_stand_in_columns():
    rows = [row(), row(changes={"a": 1}), row(None, {"a": 1}), row(False), row(warnings=["w"])]
    assert summary(rows, busy_ms=4500.0, wall_ms=1500.0, concurrency=4) == TABLES["counts stand in columns"]


def test_columns_grow_with_the_numbers():
    lines = summary([row()] * 120)
    assert lines[1] == "-" * 14
    assert lines[2] == "Succeeded: 120"
    assert lines[3] == "Failed:      0"
    assert lines[5] == "Total states run:     120"


def test_no_gain_is_claimed_where_there_is_none():
    assert "x," not in "".join(summary([row()], busy_ms=2000.0, wall_ms=2000.0, concurrency=4))
    assert "x," not in "".join(summary([row()], busy_ms=4000.0, wall_ms=2000.0, concurrency=1))
    assert "x," not in "".join(summary([row()], busy_ms=300.0, wall_ms=100.0, concurrency=4))


def test_handled_failures_are_counted_as_such():
    lines = summary([row(False), row()], handled=(tags(1)[0],))
    assert "Failed:    1 (handled=1)" in lines


def test_a_dry_run_says_how_much_would_change():
    lines = summary([row(None, {"a": 1}), row(), row(None)], test=True)
    assert lines[2] == "Succeeded: 3 (would change=2)"
    assert lines[-1] == "Dry run: 2 states would change; nothing was changed."
    lines = summary([row(None), row(None)], test=True, foretold={"a": Foretold.CHANGE, "b": Foretold.UNKNOWN})
    assert lines[2] == "Succeeded: 2 (would change=1)"
    assert lines[-1] == "Dry run: 1 to change, 1 cannot be told; nothing was changed."


def test_a_dry_run_does_not_deny_what_a_state_says_it_did():
    said = summary([row(None), row(True, {"a": 1})], test=True)[-1]
    assert said == "Dry run: 1 state would change; 1 state says it changed something."
    said = summary([row(True, {"a": 1}), row(True, {"a": 1})], test=True)[-1]
    assert said == "Dry run: nothing to change; 2 states say they changed something."


def test_a_dry_run_without_anything_to_change_says_no_more_than_that():
    assert summary([row()], test=True)[-1] == "Dry run: nothing to change."
    plain = RunReport(rows={tags(1)[0]: row()}, test=True)
    assert list(closing_lines(plain, foretold={}))[-1] == "Dry run: nothing to change."


def test_an_interruption_that_kept_nothing_from_starting_says_so():
    lines = summary([row()], cancelled="SIGINT", wall_ms=6200.0)
    assert lines[-1] == "Interrupted after 6.2 s, when all had been started."


@pytest.mark.feature("F086", "B5")
def test_what_was_not_started_is_listed_and_long_lists_are_cut():
    left = tuple(tags(25))
    lines = summary([row(False)], not_started=left, cancelled="SIGINT", wall_ms=1200.0)
    assert "Interrupted after 1.2 s." in lines
    at = lines.index("Not started: 25 states")
    assert lines[at + 1] == "    test.nop: id0"
    assert lines[-1] == "    … and 5 more"


def test_why_a_run_was_cut_short():
    cut = {"not_started": tags(1), "wall_ms": 1000.0}
    assert "Terminated after 1.0 s." in summary([row()], cancelled="SIGTERM", **cut)
    assert "Cut short after 1.0 s: out of time." in summary([row()], cancelled="out of time", **cut)


def test_the_seed_of_a_shuffle_is_shown():
    assert any("--shuffle 7" in line for line in summary([row()], shuffle=7))


@pytest.mark.feature("F155")
def test_percentages_on_request():
    report = RunReport(rows=dict(zip(tags(4), [row(), row(), row(), row(False)], strict=True)))
    lines = list(summary_lines(report, percent=True))
    assert "Success %: 75.0" in lines
    assert "Failure %: 25.0" in lines


def test_describe_tag():
    assert describe_tag("file_|-/etc/a_|-/etc/a_|-managed") == "file.managed: /etc/a"
    assert describe_tag("file_|-conf_|-/etc/a_|-managed") == "file.managed: conf (/etc/a)"
    assert describe_tag("cmd_|-x_|-a_|-b_|-run") == "cmd.run: x (a_|-b)"
    assert describe_tag("cmd_|-x_|-set -e\nmake\n_|-run") == "cmd.run: x (set -e …)"
    assert describe_tag(f"cmd_|-x_|-{'a' * 200}_|-run") == f"cmd.run: x ({'a' * 119}…)"
    assert describe_tag("odd\n") == "odd"


def test_what_an_aborted_run_leaves_behind_is_told_in_the_tense_of_the_run():
    one, two, three = tags(3)
    rows = {one: row(changes={"a": 1}), two: row()}
    assert list(applied_lines(rows, [three])) == [
        "2 states had ended, 1 with changes:",
        f"  {describe_tag(one)}",
        said("abandoned", states=describe_tag(three)),
    ]
    assert list(applied_lines({one: row(None, {"a": 1}), two: row()}, [three], dry=True)) == [
        "2 states had ended, of which 1 would change something:",
        f"  {describe_tag(one)}",
        f"It was at {describe_tag(three)}.",
    ]
