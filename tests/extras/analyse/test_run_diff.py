"""The difference of two runs: what counts as one, and what is noise."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.analyse.run_diff import diff_data, diff_lines, run_diff
from asyncstate.model.result import RunReport

TAGS = [f"test_|-{name}_|-{name}_|-nop" for name in "abcd"]


def row(result=True, changes=None, comment="", duration=0.0, **more):
    return {"name": "n", "result": result, "changes": changes or {}, "comment": comment, "duration": duration, **more}


def report(*rows, not_started=()):
    return RunReport(rows=dict(zip(TAGS, rows, strict=False)), not_started=not_started)


rows = st.builds(
    row,
    st.sampled_from([True, False, None]),
    st.sampled_from([{}, {"x": 1}]),
    st.sampled_from(["", "one\ntwo"]),
    st.sampled_from([0.0, 120.0, 5000.0]),
)
reports = st.builds(RunReport, st.dictionaries(st.sampled_from(TAGS), rows), st.sampled_from([(), ("x_|-x_|-x_|-x",)]))


@given(before=reports, after=reports)
def test_it_is_the_same_from_both_sides_and_accounts_for_each_state(before, after):
    forth, back = run_diff(before, after), run_diff(after, before)
    assert (set(forth.added), set(forth.removed)) == (set(back.removed), set(back.added))
    assert {(one.tag, one.differs) for one in forth.states} == {(one.tag, one.differs) for one in back.states}
    told = len(forth.added) + len(forth.states) + forth.same
    assert told == len({**after.rows, **dict.fromkeys(after.not_started)})
    assert list(diff_lines(forth))
    assert json.dumps(diff_data(forth))
    assert run_diff(before, before).states == ()


@pytest.mark.parametrize(
    ("before", "after", "differs"),
    [
        (row(), row(), ()),
        (row(), row(False), ("result",)),
        (row(False), row(False, __state_ran__=False), ("result",)),
        (row(changes={"a": 1}), row(changes={"a": 2}), ("changes",)),
        (row(comment="x"), row(comment="y"), ("comment",)),
        (row(duration=10.0), row(duration=100.0), ()),
        (row(duration=1000.0), row(duration=1400.0), ()),
        (row(duration=1000.0), row(duration=1600.0), ("duration",)),
        (row(duration=1600.0), row(duration=1000.0), ("duration",)),
    ],
)
def test_what_differs(before, after, differs):
    found = run_diff(report(before), report(after))
    assert tuple(each for state in found.states for each in state.differs) == differs


def test_a_process_number_is_no_difference_and_what_changed_is_told_in_short():
    ran = {"pid": 1, "retcode": 0, "stdout": "done", "stderr": ""}
    diff = {"diff": "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"}
    before = report(row(changes=ran), row(changes=ran), row(changes=diff), row(None, {"cmd": "x"}))
    after = report(
        row(changes={**ran, "pid": 2}),
        row(changes={**ran, "pid": 2, "stdout": "did"}),
        row(changes={"diff": diff["diff"].replace("y", "z")}),
        row(changes={"pid": {"old": 1, "new": 2}}),
    )
    assert list(diff_lines(run_diff(before, after), dry=(True, False)))[1:] == [
        "    changes:  exit 0: done -> exit 0: did",
        "~ test.nop: c",
        "    changes:  +1 -1, with another diff",
        "~ test.nop: d",
        "    result:   to change -> changed",
        "    changes:  would run -> pid 1 → 2",
        "  1 other state without a difference",
    ]


def test_it_reads_well():
    found = run_diff(
        report(row(comment="old", changes={"x": 1}), row(duration=100.0), row()),
        report(row(False, comment="new"), row(duration=3000.0), not_started=(TAGS[2], TAGS[3])),
    )
    assert list(diff_lines(found)) == [
        "+ test.nop: d",
        "~ test.nop: a",
        "    result:   changed -> failed",
        "    changes:  x 1 -> none",
        "    comment: -old",
        "             +new",
        "~ test.nop: b",
        "    duration: 100 ms -> 3.0 s",
        "~ test.nop: c",
        "    result:   as wanted -> not started",
    ]
