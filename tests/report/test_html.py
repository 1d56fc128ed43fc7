from __future__ import annotations

from html_outline import Outline
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.model.event import ChunkFinished, ChunkStarted, RunFinished
from asyncstate.model.result import RunReport
from asyncstate.report.html import assign_lanes, html_report
from asyncstate.report.profile import Profile, Timing


def tag(name):
    return f"test_|-{name}_|-{name}_|-nop"


def page():
    profile = Profile()
    rows = {}
    for number, (name, result) in enumerate([("good", True), ("<bad> & worse", False)]):
        changes = {"diff": "--- a\n+++ b\n@@ -1 +1 @@\n-old <x>\n+new"} if result else {}
        rows[tag(name)] = {
            "name": name,
            "result": result,
            "changes": changes,
            "comment": "<script>\x1b[0m",
            "duration": 5.0,
        }
        common = {"run_id": "r", "seq": number, "tag": tag(name)}
        profile.on_event(ChunkStarted(time=number, function="test.nop", id=name, name=name, sls="s", **common))
        profile.on_event(ChunkFinished(time=number + 0.5, row=rows[tag(name)], why="met", **common))
    profile.on_event(RunFinished(run_id="r", seq=9, time=2.0, exit_code=2, succeeded=1, changed=1, failed=1))
    return html_report(RunReport(rows=rows), profile)


def test_the_page_is_well_formed_and_everything_is_escaped():
    outline = Outline()
    outline.feed(page())
    assert outline.open == []
    assert "script" not in {name for name, _ in outline.elements}
    assert "<script>" in outline.text
    assert "Failed: test.nop: <bad> & worse" in outline.text
    assert "Summary for local" in outline.text


def test_bars_and_failed_states_stand_out():
    outline = Outline()
    outline.feed(page())
    assert [each["class"] for name, each in outline.elements if name == "rect"] == ["Changed", "Failed critical"]
    assert [(each["class"], "open" in each) for name, each in outline.elements if name == "details"] == [
        ("Changed", False),
        ("Failed", True),
    ]


def test_diff_lines_are_marked():
    assert '<span class="del">-old &lt;x&gt;</span>' in page()
    assert '<span class="add">+new</span>' in page()


def test_a_run_of_nothing_has_a_page():
    assert "Total states run:     0" in html_report(RunReport(rows={}), Profile())


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 3))))
def test_bars_of_a_lane_never_overlap(spans):
    timings = sorted(
        (Timing(str(n), started=at, ended=at + took) for n, (at, took) in enumerate(spans)), key=lambda t: t.started
    )
    lanes = {}
    for timing, lane in zip(timings, assign_lanes(timings), strict=True):
        assert lanes.get(lane, 0.0) <= timing.started
        lanes[lane] = timing.ended
