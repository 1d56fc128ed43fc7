"""One line for the many rows of ``names``."""

from __future__ import annotations

import copy

import pytest

from asyncstate.model.result import RunReport
from asyncstate.report.compress import compress_ids
from asyncstate.report.human import Style, report_lines


def row(name, *, result=True, changes=None, started="10:00:02", id_="tools"):
    return {
        "name": name,
        "result": result,
        "changes": changes or {},
        "comment": f"{name} done",
        "__id__": id_,
        "__sls__": "web",
        "__run_num__": 0,
        "start_time": started,
        "duration": 1.5,
    }


def rows(*each):
    return {f"pkg_|-{one['__id__']}_|-{one['name']}_|-installed": one for one in each}


@pytest.mark.feature("F155")
def test_rows_of_one_id_and_result_are_one():
    given = rows(
        row("a", changes={"new": 1}),
        row("b", result=False),
        row("c", changes={"new": 3}, started="10:00:01"),
        row("d", id_="other"),
        row("e", changes={"new": 5}),
        row("f"),
    )
    before = copy.deepcopy(given)
    found = compress_ids(given)
    assert list(found) == [
        "pkg_|-tools (4)_|-state_compressed_web_tools_True_|-installed",
        "pkg_|-tools_|-b_|-installed",
        "pkg_|-other_|-d_|-installed",
    ]
    joined = next(iter(found.values()))
    assert joined["changes"] == {"compressed changes": {"a": {"new": 1}, "c": {"new": 3}, "e": {"new": 5}}}
    assert (joined["comment"], joined["start_time"], joined["duration"]) == ("a done", "10:00:01", 6.0)
    assert given == before


def test_changes_of_a_later_row_only():
    found = compress_ids(rows(row("a"), row("b", changes={"new": 1})))
    assert [each["changes"] for each in found.values()] == [{"compressed changes": {"b": {"new": 1}}}]


def test_a_key_that_is_no_tag_stays():
    given = {"odd": row("a"), "odder": row("b")}
    assert compress_ids(given) == given


@pytest.mark.feature("F155")
def test_the_summary_still_counts_every_state():
    report = RunReport(rows=rows(row("a"), row("b")))
    style = Style.of({"state_output": "terse_id", "state_compress_ids": True, "state_output_profile": False})
    lines = list(report_lines(report, style))
    assert lines[1] == "  Name: tools (2) - Function: pkg.installed - Result: Clean"
    assert any(line.startswith("Succeeded: 2") for line in lines)
