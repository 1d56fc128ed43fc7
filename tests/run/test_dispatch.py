"""The seam between the scheduler and what runs chunks: what each side promises the other."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from fake_dispatch import FakeDispatch
from fake_dispatch import usual_fakes as fakes
from fake_host import FakeHost, InlineWorkers, row, run_engine
from hypothesis import given
from hypothesis import strategies as st
from messages import said
from plans import PlanBuilder

from asyncstate.errors import Issue, LoaderError
from asyncstate.model.event import ChunkFinished, RunFinished
from asyncstate.model.plan import NodeKind
from asyncstate.run.chunk.local import LocalDispatch
from asyncstate.run.engine import Engine, RunOptions
from asyncstate.run.gate import Verdict
from asyncstate.run.machine import Work
from tests.run.test_engine import run

if TYPE_CHECKING:
    from asyncstate.run.dispatch import Dispatch, Supervisor

KEYS = {"name", "result", "changes", "comment", "start_time", "duration", "__id__", "__sls__"}


class Bystander:
    """A supervisor of nothing."""

    cut = False

    async def pause(self, chunk, attempt, row, seconds):
        return True

    def overrun(self, work, chunk, row, *, final):
        raise AssertionError("nothing takes long")

    async def returned(self, work):
        raise AssertionError("nothing takes long")


def fake(plan):
    return misbehaving(FakeDispatch())


def local(plan):
    return LocalDispatch(plan, misbehaving(FakeHost()))


def misbehaving(target):
    async def nop(name, **_kwargs):
        return row(name)

    async def raises(name, **_kwargs):
        raise ValueError(name)

    async def malformed(name, **_kwargs):
        return ["no", "row"]

    for func in (nop, raises, malformed):
        target.state(f"test.{func.__name__}", func)
    target.state("test.mod_watch", nop)
    return target


@pytest.mark.parametrize("make", [fake, local])
@given(
    function=st.sampled_from(["nop", "raises", "malformed"]),
    verdict=st.sampled_from([verdict for verdict in Verdict if verdict is not Verdict.LISTEN]),
    kind=st.sampled_from([NodeKind.CHUNK, NodeKind.CHECK]),
)
def test_whatever_happens_there_is_a_row_with_all_its_keys(make, function, verdict, kind):
    plan = PlanBuilder().chunk("before").chunk("x", f"test.{function}", watch=["before"]).build()

    async def main():
        dispatch: Dispatch = make(plan)
        supervisor: Supervisor = Bystander()
        assert dispatch.module_traits() is not None
        with dispatch.begin(supervisor, {}, {}):
            return await dispatch.run_chunk(Work(1, kind, 1, verdict, (0,) * (verdict is Verdict.FAIL)), plan.chunks[1])

    made = asyncio.run(main())
    assert made.keys() >= KEYS
    assert made["result"] in {True, False, None}
    assert type(made["changes"]) is dict
    assert type(made["comment"]) is str
    watched = verdict is Verdict.CHANGE and kind is NodeKind.CHUNK  # the row is that of mod_watch
    failed = verdict is Verdict.FAIL or (verdict.runs and function != "nop" and not watched)
    assert (made["result"] is False) == failed
    assert (made.get("__state_ran__") is False) == (not verdict.runs)


def test_a_dispatcher_that_breaks_its_word_fails_one_chunk():
    dispatch = fakes()

    async def breaks(work, chunk):
        raise ZeroDivisionError("a bug")

    dispatch.run_chunk = breaks
    events = []
    plan = PlanBuilder().chunk("a").chunk("b").build()
    report, _ = run(plan, dispatch, observers=[events.append], concurrency=2)
    assert [made["result"] for made in report.rows.values()] == [False, False]
    assert all("ZeroDivisionError: a bug" in made["comment"] for made in report.rows.values())
    assert sum(isinstance(event, ChunkFinished) for event in events) == 2


def test_what_modules_declare_holds_for_their_chunks():
    dispatch, running, most = fakes(), [], []

    async def work(name):
        running.append(name)
        most.append(sorted(running))
        await asyncio.sleep(1)
        running.remove(name)
        return row(name)

    for module in ("lane", "alone", "free"):
        dispatch.state(f"{module}.go", work)
    dispatch.module("lane", lane="narrow")
    dispatch.module("alone", exclusive=True)
    builder = PlanBuilder().chunk("l1", "lane.go").chunk("l2", "lane.go").chunk("f", "free.go").chunk("x", "alone.go")
    report, seconds = run(builder.chunk("y", "alone.go", args={"exclusive": False}).build(), dispatch, concurrency=9)
    assert report.ok
    assert ["x"] in most
    assert not any({"l1", "l2"} <= set(together) for together in most)
    assert any({"f", "l1"} <= set(together) for together in most)
    assert seconds == pytest.approx(4)


def test_it_gets_the_rows_so_far_and_the_members_of_groups_that_may_run():
    dispatch, seen = fakes(), []

    @dispatch.state("test.look")
    async def look(name):
        seen.append((name, sorted(tag.split("_|-")[1] for tag in dispatch.rows)))
        return row(name)

    builder = PlanBuilder().chunk("bad", "test.fail").chunk("one", "test.look").chunk("two", require=["bad"])
    run(builder.chunk("three", "test.look", require=["one"]).group("one", "two").build(), dispatch)
    assert dispatch.groups == [(1,)]
    assert seen == [("one", ["bad"]), ("three", ["bad", "one", "two"])]


def test_its_notices_and_warnings_are_in_the_report_and_in_the_last_event():
    dispatch, events = fakes(), []
    dispatch.notices.append("a notice")
    dispatch.warnings.append(Issue("a warning"))
    report, _ = run(PlanBuilder().chunk("a").build(), dispatch, observers=[events.append])
    assert (report.notices, report.warnings) == (("a notice",), (Issue("a warning"),))
    assert isinstance(events[-1], RunFinished)
    assert events[-1].warnings == ("a warning", "a notice")


def test_who_pauses_leaves_its_slot_to_others():
    dispatch, order = fakes(), []

    async def retries(work, chunk):
        if chunk.id != "pauses":
            order.append(chunk.id)
            return {**row(chunk.name), "start_time": "", "duration": 0.0, "__id__": chunk.id, "__sls__": "s"}
        await dispatch.supervisor.pause(chunk, 1, row(chunk.name, result=False), 10)
        order.append("pauses")
        return {**row(chunk.name), "start_time": "", "duration": 0.0, "__id__": chunk.id, "__sls__": "s"}

    dispatch.run_chunk = retries
    plan = PlanBuilder().chunk("pauses").chunk("next").chunk("last", require=["next"]).build()
    report, seconds = run(plan, dispatch, concurrency=2)
    assert report.ok
    assert order == ["next", "last", "pauses"]
    assert seconds == pytest.approx(10)


@pytest.mark.parametrize("width", [1, 2])
def test_a_stop_ends_every_pause_and_what_begins_to_pause_is_not_kept(width):
    dispatch, again = fakes(), []

    async def retries(work, chunk):
        if chunk.id == "later":
            await asyncio.sleep(5)
        again.append(await dispatch.supervisor.pause(chunk, 1, row(chunk.name, result=False), 3600))
        return {**row(chunk.name), "start_time": "", "duration": 0.0, "__id__": chunk.id, "__sls__": "s"}

    dispatch.run_chunk = retries
    plan = PlanBuilder().chunk("pauses").chunk("later").chunk("never", require=["later"]).build()
    report, seconds = run(plan, dispatch, concurrency=width, act=(2, "stop", "SIGINT"))
    assert again == [False] * width
    assert report.exit_code == 130
    assert seconds == pytest.approx(2 if width == 1 else 5)
    assert len(report.rows) == width


def test_a_row_that_is_recorded_early_is_the_row_and_the_node_stays_until_the_end():
    dispatch = fakes()

    async def takes_long(work, chunk):
        if chunk.id == "slow":
            too_long = row(chunk.name, result=False, comment="too long")
            dispatch.supervisor.overrun(work, chunk, too_long, final=True)
            await asyncio.sleep(20)
            await dispatch.supervisor.returned(work)
        if chunk.id == "other":
            await asyncio.sleep(30)
        return {**row(chunk.name), "start_time": "", "duration": 0.0, "__id__": chunk.id, "__sls__": "s"}

    dispatch.run_chunk = takes_long
    events = []
    plan = PlanBuilder().chunk("slow").chunk("other").chunk("after", onfail=["slow"]).build()
    report, seconds = run(plan, dispatch, observers=[events.append], concurrency=1)
    done = [(True, "done"), (True, "done")]
    assert [(made["result"], made["comment"]) for made in report.rows.values()] == [(False, "too long"), *done]
    finished = [event for event in events if isinstance(event, ChunkFinished)]
    assert [event.time for event in finished] == [pytest.approx(0, abs=1e-6), pytest.approx(30), pytest.approx(30)]
    assert seconds == pytest.approx(30)


def test_of_a_check_that_is_cut_off_the_state_has_not_started():
    """Also where its requisites would have skipped it: the row of a check that ends then is that of the state."""
    dispatch = fakes()
    run_chunk = dispatch.run_chunk

    async def slow_check(work, chunk):
        if work.kind is NodeKind.CHECK:
            assert not work.verdict.runs
            await asyncio.sleep(50)
        return await run_chunk(work, chunk)

    dispatch.run_chunk = slow_check
    plan = PlanBuilder().chunk("bad", "test.fail").chunk("first", prereq=["skipped"]).chunk("skipped", require=["bad"])
    report, _ = run(plan.build(), dispatch, act=(1, "cancel", "enough"))
    assert [tag.split("_|-")[1] for tag in report.rows] == ["bad"]
    assert [tag.split("_|-")[1] for tag in report.not_started] == ["first", "skipped"]


def test_a_call_that_is_left_running_is_waited_for_a_moment_and_then_named():
    dispatch = fakes()

    async def cut_off(work, chunk):
        try:
            await asyncio.sleep(50)
        except asyncio.CancelledError:
            loop = asyncio.get_running_loop()
            ended, never = loop.create_future(), loop.create_future()
            loop.call_later(1, ended.set_result, None)
            dispatch.supervisor.left_running(chunk, [ended, never])
            raise

    dispatch.run_chunk = cut_off
    report, seconds = run(PlanBuilder().chunk("x").build(), dispatch, act=(1, "cancel", "enough"))
    assert report.notices == (said("thread-left", state="s:x"),)
    assert seconds == pytest.approx(1 + 3)


def test_an_engine_without_threads_works_in_place():
    class NoThreads(InlineWorkers):
        async def run(self, fn, *args):
            raise LoaderError("no thread")

    plan, options = PlanBuilder().chunk("a").build(), RunOptions(run_id="r")
    for in_thread in (None, NoThreads().run):
        report, _ = run_engine(
            lambda clock, how=in_thread: Engine(plan, FakeDispatch(), options, clock=clock, in_thread=how)
        )
        assert report.ok
