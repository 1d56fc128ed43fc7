"""Events in turns: when one state releases many, their events do not hold the loop, and none of them is lost."""

from __future__ import annotations

import asyncio
from collections import Counter

import anyio
import msgspec
import pytest
from fake_dispatch import FakeDispatch, usual_fakes
from fake_host import run_engine, run_virtual
from hypothesis import given
from hypothesis import strategies as st
from plans import PlanBuilder

from asyncstate.model.event import ChunkFinished, ChunkReady, ChunkStarted, RunFinished, RunStarted
from asyncstate.model.result import Outcome
from asyncstate.run import recorder
from asyncstate.run.engine import Engine
from asyncstate.run.options import RunOptions

MANY = 3 * recorder._AT_ONCE


@st.composite
def plans(draw, limits=({}, {}, {"lane": "one"}, {"exclusive": True}, {"failhard": True})):
    """Plans whose states may release others: with failures, prereq checks, listeners and limits."""
    builder = PlanBuilder()
    for number in range(draw(st.integers(1, 14))):
        function = draw(st.sampled_from(["nop", "change", "fail", "wait"]))
        args = {"seconds": draw(st.integers(1, 3))} if function == "wait" else {}
        args |= draw(st.sampled_from(limits))
        kind = draw(st.sampled_from(["require", "require", "watch", "onfail", "onchanges"]))
        targets = draw(st.lists(st.integers(0, min(2, number - 1)), max_size=2)) if number else []
        builder.chunk(f"c{number}", f"test.{function}", args=args, **{kind: [f"c{target}" for target in targets]})
    if draw(st.booleans()):
        builder.chunk("asks", "test.change", prereq=["c0"])
    if draw(st.booleans()):
        builder.listen("c0", "c0")
    return builder.build()


def watched(plan, width, at_once, act=None, cancel_at=None):
    """Run a plan that sends at most ``at_once`` steps of events in a turn; return its events."""
    events = []

    def make(clock):
        def observe(event):
            events.append(event)
            if event.seq == cancel_at:
                engine.cancel("enough")

        options = RunOptions(run_id="r", concurrency=width)
        engine = Engine(plan, usual_fakes(), options, [observe], clock=clock)
        return engine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder, "_AT_ONCE", at_once)
        run_engine(make, act)
    return events


def counted(events):
    """Count events by their contents, apart from their numbers and the hour."""
    counts = Counter()
    for event in events:
        bare = msgspec.structs.replace(event, seq=0, **{"wall": 0.0} if isinstance(event, RunStarted) else {})
        if isinstance(event, ChunkFinished):
            bare = msgspec.structs.replace(bare, row=bare.row | {"start_time": ""})
        counts[str(bare)] += 1
    return counts


def require_order(events):
    """Require one numbering, RunFinished at the end, and no state or check that starts or ends before it is ready."""
    assert [event.seq for event in events] == list(range(len(events)))
    assert [isinstance(event, RunFinished) for event in events].index(True) == len(events) - 1
    ready, started = Counter(), set()
    for event in events:
        if isinstance(event, ChunkReady):
            ready[event.tag, event.check] += 1
            assert (event.tag, event.check) not in started
        elif isinstance(event, ChunkStarted):
            started.add((event.tag, event.check))
        elif isinstance(event, ChunkFinished):
            assert (event.tag, event.check) in started
    assert set(ready.values()) <= {1}


@given(
    plan=plans(limits=({},)),
    width=st.sampled_from([1, 100]),
    end=st.sampled_from([None, "stop", "cancel"]),
    when=st.integers(0, 4),
)
def test_a_run_in_many_turns_sends_the_events_of_a_run_in_few(plan, width, end, when):
    act = (when + 0.5, end, "enough") if end else None
    events, others = (watched(plan, width, at_once, act) for at_once in (1, 10**6))
    assert counted(events) == counted(others)
    require_order(events)
    require_order(others)


@given(plan=plans(), width=st.integers(1, 5), at_once=st.integers(1, 3), cancel_at=st.integers(1, 40))
def test_an_observer_that_cancels_the_run_loses_no_event(plan, width, at_once, cancel_at):
    events = watched(plan, width, at_once, cancel_at=cancel_at)
    require_order(events)


def fan_out():
    builder = PlanBuilder().chunk("first")
    for number in range(MANY):
        builder.chunk(f"c{number}", require=["first"])
    return builder.build()


@pytest.mark.no_cover
@pytest.mark.parametrize("width", [1, 4, 100])
async def test_all_workers_together_send_the_events_of_one_turn(width):
    sent, turns = [0], []

    def observe(event):
        sent[0] += isinstance(event, ChunkReady)

    async def look():
        while True:
            before = sent[0]
            await asyncio.sleep(0)
            turns.append(sent[0] - before)

    looks = asyncio.create_task(look())
    await Engine(fan_out(), FakeDispatch(), RunOptions(run_id="r", concurrency=width), [observe]).run()
    looks.cancel()
    assert sum(turns) == MANY
    assert max(turns) <= recorder._AT_ONCE


def test_states_that_another_host_releases_are_announced_at_once_although_every_slot_is_taken():
    builder = PlanBuilder().remote("far").chunk("busy", "test.wait", args={"seconds": 1000})
    for number in range(MANY):
        builder.chunk(f"c{number}", require=["far"])
    plan, events = builder.build(), []
    (far,) = (number for number, node in enumerate(plan.nodes) if node.label == "far")

    class Far:
        def __init__(self):
            self.rows = {}

        async def outcomes(self):
            await asyncio.sleep(1)
            yield far, Outcome(result=True, changed=False)

        def words(self, nodes):
            return ""

        def ended(self, node, outcome):
            pass

    options = RunOptions(run_id="r")
    run_engine(lambda clock: Engine(plan, usual_fakes(), options, [events.append], clock=clock, elsewhere=Far()))
    assert Counter(event.time for event in events if isinstance(event, ChunkReady)) == {1.0: MANY}


@pytest.mark.no_cover
def test_the_report_names_an_observer_that_raises_at_an_event_that_was_left_to_the_end():
    told = []

    def observe(event):
        told.append(event)
        if isinstance(event, ChunkReady):
            engine.cancel("enough")
            if event.tag == plan.chunks[MANY].tag:
                raise ValueError("late")

    plan, others = fan_out(), []
    engine = Engine(plan, FakeDispatch(), RunOptions(run_id="r", concurrency=2), [observe, others.append])
    report, _ = run_virtual(engine.run())
    (notice,) = report.notices
    assert "late" in notice
    assert sum(isinstance(event, ChunkReady) for event in told) == MANY
    assert notice in others[-1].warnings


@pytest.mark.parametrize("how", ["task", "scope"])
async def test_a_run_that_is_cancelled_while_its_report_is_made_has_a_report(how):
    counting, events = asyncio.Event(), []

    async def in_thread(work, *args):
        if work.__name__ == "_numbered":
            counting.set()
            await asyncio.sleep(1000)
        return work(*args)

    options = RunOptions(run_id="r", concurrency=2)
    engine = Engine(PlanBuilder().chunk("a").build(), FakeDispatch(), options, [events.append], in_thread=in_thread)
    if how == "task":
        task = asyncio.create_task(engine.run())
        await counting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        async with anyio.create_task_group() as group:
            group.start_soon(engine.run)
            await counting.wait()
            group.cancel_scope.cancel()
    assert isinstance(events[-1], RunFinished)
    assert len(engine.report.rows) == 1
