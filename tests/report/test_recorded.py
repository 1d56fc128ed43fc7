"""A report that is made from events is the report of the run."""

from __future__ import annotations

import asyncio

import msgspec
from fake_dispatch import FakeDispatch
from fake_host import FakeHost, row, run, run_engine
from hypothesis import given
from hypothesis import strategies as st
from messages import said
from plans import PlanBuilder

from asyncstate.model.event import RunFinished, decode_event, encode_event
from asyncstate.model.plan import BrokenListener
from asyncstate.report.recorded import RecordedReport
from asyncstate.run.engine import Engine, RunOptions
from tests.run.test_machine import plans


def rebuilt(events, **more):
    recorded = RecordedReport()
    for event in events:
        recorded.on_event(decode_event(encode_event(event)))
    return recorded.report(**more)


def assert_same(report, events):
    made = rebuilt(events)
    texts = [*map(str, report.warnings), *report.notices]
    assert list(made.rows.items()) == list(report.rows.items())
    assert [list(one) for one in made.rows.values()] == [list(one) for one in report.rows.values()], "keys in order"
    assert [str(issue) for issue in made.warnings] == texts
    assert msgspec.structs.replace(made, warnings=report.warnings, notices=report.notices) == report


@given(plan=plans(), data=st.data(), width=st.integers(1, 4))
def test_whatever_states_do_and_in_whatever_order_they_end(plan, data, width):
    results = [data.draw(st.sampled_from([True, True, False, None])) for _ in plan.chunks]
    changed = [data.draw(st.booleans()) for _ in plan.chunks]
    seconds = [data.draw(st.integers(0, 3)) for _ in plan.chunks]
    place = {chunk.name: chunk.index for chunk in plan.chunks}
    dispatch, events = FakeDispatch(), []

    async def end(name, **_arguments):
        index = place[name]
        await asyncio.sleep(seconds[index])
        return row(name, result=results[index], changes={"x": 1} if changed[index] else {})

    dispatch.functions = dict.fromkeys((*(chunk.function for chunk in plan.chunks), "test.mod_watch"), end)
    report, _ = run_engine(
        lambda clock: Engine(plan, dispatch, RunOptions(run_id="r", concurrency=width), [events.append], clock=clock)
    )
    assert_same(report, events)


def host_with_subs():
    host = FakeHost()

    async def subs(name, inner=("inner",), wait=0):
        await asyncio.sleep(wait)
        entries = [
            {
                "changes": {"of": name},
                "result": True,
                "comment": "",
                "low": {"state": "subs", "name": each, "fun": "go", "__id__": each},
            }
            for each in inner
        ]
        return row(name, sub_state_run=entries)

    host.state("test.subs", subs)
    host.state("test.change", lambda name: row(name, changes={"x": 1}))
    return host


def test_sub_states_that_share_a_tag_and_rows_that_no_state_gave():
    plan = (
        PlanBuilder()
        .chunk("slow", "test.subs", args={"inner": ["same", "own"], "wait": 5})
        .chunk("quick", "test.subs", args={"inner": ["same", "other"]})
        .chunk("c", "test.change")
        .build()
    )
    tag = "Listen_Error_|-x_|-x_|-y"
    broken = BrokenListener((2,), tag, row("x", result=False))
    disabled = {"test_|-off_|-off_|-nop": row("off", comment="disabled")}
    plan = msgspec.structs.replace(plan, broken_listeners=(broken,), rows=disabled)
    events = []
    report, _ = run(plan, host_with_subs(), [events.append], concurrency=4)
    assert tag in report.rows
    assert "test_|-off_|-off_|-nop" in report.rows
    assert len(report.rows) == 8
    assert_same(report, events)


def test_a_run_in_the_order_of_its_report_needs_no_order():
    plan = PlanBuilder().chunk("a", "test.change").chunk("b", "test.change").build()
    events = []
    run(plan, host_with_subs(), [events.append], concurrency=1)
    (finished,) = [event for event in events if isinstance(event, RunFinished)]
    assert (finished.order, finished.rows) == ((), {})


def test_a_run_without_an_end_has_the_rows_so_far_and_the_reason():
    plan = PlanBuilder().chunk("a", "test.change").chunk("b", "test.change").build()
    events = []
    run(plan, host_with_subs(), [events.append], concurrency=1)
    report = rebuilt(events[:3], cut_short="killed")
    assert [one["name"] for one in report.rows.values()] == ["a"]
    assert (report.cancelled, report.exit_code, report.ok) == ("killed", 125, False)


def test_an_order_that_is_none_and_a_verdict_of_a_later_version_hide_no_row():
    plan = PlanBuilder().chunk("a", "test.change").chunk("b", "test.change").build()
    events = []
    run(plan, host_with_subs(), [events.append], concurrency=1)
    for order in ((0, 0), (0, 7), (0,), (-1, 0)):
        spoilt = [*events[:-1], msgspec.structs.replace(events[-1], order=order)]
        assert len(rebuilt(spoilt).rows) == 2
    later = [msgspec.structs.replace(each, why="new") if hasattr(each, "why") else each for each in events]
    assert len(rebuilt(later).rows) == 2


def test_what_had_started_and_what_had_not_is_named_if_the_run_has_no_end():
    plan = PlanBuilder().chunk("a", "test.change").chunk("b", "test.change").chunk("c", "test.change").build()
    tags = [chunk.tag for chunk in plan.chunks]
    events = []
    run(plan, host_with_subs(), [events.append], concurrency=1)
    report = rebuilt(events[:4], cut_short="killed", planned=tags)
    assert (list(report.rows), report.not_started) == (tags[:1], tuple(tags[2:]))
    assert report.notices == (said("cut-off-state", state="test.change: b"),)
    assert rebuilt(events, planned=tags).not_started == ()


@given(kept=st.sets(st.integers(0, 5)))
def test_a_record_that_lacks_events_says_so_unless_it_only_ends_early(kept):
    host, plan, events = FakeHost(), PlanBuilder().chunk("a").chunk("b").build(), []
    run(plan, host, observers=[events.append])
    left = [event for event in events if event.seq in kept]
    lacks = [event.seq for event in left] != list(range(len(left)))
    for ending, is_over in (("killed", False), ("finished", True)):
        report = rebuilt(left, cut_short=ending, planned=["a", "b"])
        ended = bool(left) and isinstance(left[-1], RunFinished)
        is_told = lacks or (is_over and not ended)
        assert any(said("record-incomplete") in notice for notice in report.notices) == is_told
        assert not (is_told and not ended and report.not_started), "what was lost may have started"
