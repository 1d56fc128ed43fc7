"""The remaining time of a run: never a lie, nothing where nothing is known, and no work for each event."""

from __future__ import annotations

import asyncio
import time

import pytest
from fake_dispatch import FakeDispatch
from fake_host import row, run_virtual
from hypothesis import given
from hypothesis import strategies as st
from plans import PlanBuilder

from asyncstate.extras.analyse.remaining import Remaining, past, source_text
from asyncstate.extras.analyse.simulate import Rules
from asyncstate.model.event import ChunkFinished, ChunkStarted, RunStarted
from asyncstate.run.engine import Engine, RunOptions
from tests.extras.analyse.test_simulate import own_moment


def watched(plan, seconds, width, known_seconds=None):
    """Run a plan; return (time, between) after each event, and how long the run took."""
    dispatch, seen = FakeDispatch(), []
    place = {chunk.name: chunk.index for chunk in plan.chunks}
    before = {chunk.tag: float((known_seconds or seconds)[chunk.index]) for chunk in plan.chunks}

    async def work(name, **_arguments):
        await asyncio.sleep(seconds[place[name]])
        return row(name)

    dispatch.functions = dict.fromkeys((*(chunk.function for chunk in plan.chunks), "test.mod_watch"), work)

    async def main():
        clock = asyncio.get_running_loop().time
        remaining = Remaining(clock)
        remaining.learn(past(plan, before, width, Rules(), "12:01"))

        def note(event):
            remaining.on_event(event)
            seen.append((clock(), remaining.between()))

        await Engine(plan, dispatch, RunOptions(run_id="r", concurrency=width), [note], clock=clock).run()

    _, took = run_virtual(main())
    return seen, took


@st.composite
def plain_plans(draw):
    """States that all run, with requisites that point backwards."""
    builder = PlanBuilder()
    for number in range(draw(st.integers(1, 20))):
        targets = draw(st.lists(st.integers(0, number - 1), max_size=3, unique=True)) if number else []
        builder.chunk(f"c{number}", require=[f"c{target}" for target in targets])
    return builder.build()


@given(plan=plain_plans(), data=st.data(), width=st.integers(1, 5))
def test_it_is_at_least_what_it_says_and_at_first_no_more(plan, data, width):
    seconds = [own_moment(data.draw(st.integers(0, 5)), chunk.index) for chunk in plan.chunks]
    seen, took = watched(plan, seconds, width)
    for now, (least, most) in seen:
        assert least <= took - now + 1e-6
        assert least <= most + 1e-6
    assert seen[0][1][1] == pytest.approx(took), "the past run, simulated with these slots, was as long as this one"
    assert seen[-1][1] == pytest.approx((0, 0), abs=1e-6)


def test_a_slower_machine_widens_the_range():
    plan = chain(4)
    seen, took = watched(plan, [4] * 4, 1, known_seconds=[2] * 4)
    now, (least, most) = seen[4]  # the first has ended
    assert (now, took) == (4, 16)
    assert least == 6
    assert most == 12 == took - now


def chain(length):
    builder = PlanBuilder().chunk("c0")
    for number in range(1, length):
        builder.chunk(f"c{number}", require=[f"c{number - 1}"])
    return builder.build()


class Script:
    """A run told by hand."""

    def __init__(self, plan, seconds, slots=2, known=None):
        self.now = 0.0
        self.plan = plan
        self.remaining = Remaining(lambda: self.now)
        tags = [chunk.tag for chunk in plan.chunks]
        self.past = past(plan, dict(zip(tags, seconds, strict=False)), slots, Rules(), "yesterday 12:01")
        self.event(RunStarted, wall=0, digest="", chunks=len(tags), concurrency=slots, test=False)

    def event(self, kind, **fields):
        self.remaining.on_event(kind(run_id="r", seq=0, time=self.now, **fields))

    def start(self, index, **more):
        self.event(ChunkStarted, tag=self.plan.chunks[index].tag, function="f", id="i", name="n", sls="s", **more)

    def end(self, index, **more):
        self.event(ChunkFinished, tag=self.plan.chunks[index].tag, row={}, why="met", **more)

    def text_at(self, now):
        self.now = now
        return self.remaining.text()


def test_the_text_names_the_time_and_where_it_is_from():
    script = Script(chain(3), [60, 60, 30])
    assert script.text_at(0) == "", "nothing is known yet"
    script.remaining.learn(script.past)
    script.start(0)
    assert script.text_at(5) == "about 2 min 30 s left, from the run of yesterday 12:01"
    assert script.text_at(5.5) == "about 2 min 30 s left, from the run of yesterday 12:01"
    script.now = 60
    script.end(0)
    script.start(1)
    assert script.text_at(70) == "about 1 min 20 s left, from the run of yesterday 12:01"
    assert script.text_at(119) == "about 30 s left, from the run of yesterday 12:01"


def test_it_is_made_once_a_second():
    script = Script(chain(2), [60, 60])
    script.remaining.learn(script.past)
    script.start(0)
    first = script.text_at(1)
    calls = []
    script.remaining.between = lambda: calls.append(1)
    assert script.text_at(1.9) == first
    assert calls == []
    script.text_at(2.1)
    assert calls == [1]


def test_a_run_that_is_longer_than_the_past_one_says_so():
    script = Script(chain(1), [10])
    script.remaining.learn(script.past)
    script.start(0)
    assert script.text_at(7) == "a few seconds left, from the run of yesterday 12:01"
    assert script.text_at(12) == "longer than the run of yesterday 12:01"


def test_a_range_where_little_is_certain():
    plan = PlanBuilder().chunk("a").chunk("b").chunk("c").build()
    script = Script(plan, [60, 60, 60], slots=2)
    script.remaining.learn(script.past)
    assert script.text_at(0) == "1 min 30 s to 2 min left, from the run of yesterday 12:01"


def test_states_that_are_new_make_it_a_least_and_many_of_them_nothing():
    script = Script(chain(4), [60, 60, 60])
    script.remaining.learn(script.past)
    assert script.text_at(0) == "at least 3 min left, from the run of yesterday 12:01; 1 state new"
    quick = Script(chain(4), [0.1, 0.1, 0.1])
    quick.remaining.learn(quick.past)
    assert quick.text_at(0) == "at least a few seconds left, from the run of yesterday 12:01; 1 state new"
    assert Script(chain(4), [60]).past is None
    assert past(PlanBuilder().build(), {}, 1, Rules(), "") is None


def test_what_a_check_takes_is_not_what_its_state_takes():
    script = Script(chain(1), [10])
    script.remaining.learn(script.past)
    script.start(0, check=True)
    script.end(0, check=True)
    assert script.remaining.between() == (10, 10)


def test_when_a_run_was():
    noon = time.mktime((2026, 3, 15, 12, 1, 0, 0, 0, -1))
    assert source_text(noon, noon + 3600) == "12:01"
    assert source_text(noon, noon + 86400) == "yesterday 12:01"
    assert source_text(noon, noon + 3 * 86400) == "2026-03-15 12:01"
