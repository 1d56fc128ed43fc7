"""The simulated run of a recorded plan: as long as the run was, and within the bounds that any such run has."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import msgspec
import pytest
from fake_dispatch import FakeDispatch
from fake_host import row, run_engine
from hypothesis import given
from hypothesis import strategies as st
from plans import PlanBuilder

from asyncstate.extras.analyse.recording import Recording, recording
from asyncstate.extras.analyse.simulate import Rules, longest_path, simulate
from asyncstate.model.event import ChunkFinished, ChunkStarted
from asyncstate.model.plan import ContingentEdge, NodeKind
from asyncstate.model.result import Outcome
from asyncstate.run.engine import Engine, RunOptions
from tests.run.test_machine import outcomes, plans

OK = Outcome(result=True, changed=False)


def recorded(plan, seconds, width=1, *, ends=None, retries=None):
    """Run a plan on a virtual clock; return what was recorded, and the seconds that it took."""
    dispatch, events = FakeDispatch(), []
    place = {chunk.name: chunk.index for chunk in plan.chunks}

    async def work(name, test, **_arguments):
        index = place[name]
        for _ in range(0 if test else (retries or {}).get(index, 0)):  # a prereq check is not tried again
            await asyncio.sleep(own_moment(1, index))
            await dispatch.supervisor.pause(plan.chunks[index], 1, row(name, result=False), own_moment(2, index))
        await asyncio.sleep(seconds[index])
        result = (ends or {}).get(index, OK)
        return row(name, result=result.result, changes={"x": 1} if result.changed else {})

    dispatch.functions = dict.fromkeys((*(chunk.function for chunk in plan.chunks), "test.mod_watch"), work)
    _, took = run_engine(
        lambda clock: Engine(plan, dispatch, RunOptions(run_id="r", concurrency=width), [events.append], clock=clock)
    )
    return recording(plan, events), took


def own_moment(seconds, index):
    """So many seconds and a bit, so that no two states end together: which of them is first is not said."""
    return seconds + 2 ** ((index + 1) / 29) / 7


@given(plan=plans(), data=st.data(), width=st.integers(1, 6))
def test_with_as_many_slots_it_takes_as_long_as_the_run(plan, data, width):
    seconds = [own_moment(data.draw(st.integers(0, 5)), chunk.index) for chunk in plan.chunks]
    ends = {chunk.index: data.draw(outcomes) for chunk in plan.chunks}
    retries = {chunk.index: data.draw(st.sampled_from([0, 0, 0, 1, 2])) for chunk in plan.chunks}
    known, took = recorded(plan, seconds, width, ends=ends, retries=retries)
    assert known.unknown == ()
    assert simulate(plan, known, width, Rules()).seconds == pytest.approx(took, abs=1e-4)  # rows tell microseconds


@given(plan=plans(), data=st.data(), width=st.integers(1, 6))
def test_one_slot_takes_the_sum_and_more_stay_within_the_bounds(plan, data, width):
    seconds = [data.draw(st.integers(0, 5)) for _ in plan.chunks]
    known, _ = recorded(plan, seconds, width, ends={chunk.index: data.draw(outcomes) for chunk in plan.chunks})
    path, nodes = longest_path(plan, known)
    assert path == pytest.approx(sum(map(known.length, nodes)))
    assert simulate(plan, known, 1, Rules()).seconds == pytest.approx(known.work)
    for slots in range(1, 9):
        took = simulate(plan, known, slots, Rules()).seconds
        assert took >= max(path, known.work / slots) - 1e-6
        assert took <= known.work / slots + (1 - 1 / slots) * path + 1e-6, (
            "Graham's bound: nothing waits beside a free slot"
        )


@given(plan=plans(), data=st.data(), slots=st.integers(1, 8))
def test_lanes_exclusive_states_and_contingent_edges_only_cost(plan, data, slots):
    chunks = range(len(plan.chunks))
    serial = plan.dag.topological_order(lambda node: plan.rank[node])
    places = [place for place, node in enumerate(serial) if node in chunks]
    edges = st.tuples(st.sampled_from(places), st.sampled_from(places), st.sampled_from(places))
    contingent = tuple(
        ContingentEdge(serial[before], serial[after], serial[proof])
        for before, after, proof in data.draw(st.lists(edges, max_size=3))
        if before < after and proof < after
    )
    plan = msgspec.structs.replace(plan, contingent=contingent)
    known = Recording(
        spans=tuple(
            (float(data.draw(st.integers(0, 5))),) if node.kind is NodeKind.CHUNK else () for node in plan.nodes
        ),
        outcomes=tuple(data.draw(outcomes) for _ in plan.nodes),
    )
    rules = Rules(
        exclusive=data.draw(st.frozensets(st.sampled_from(chunks), max_size=3)),
        lanes={chunk: ["lane"] for chunk in data.draw(st.sets(st.sampled_from(chunks)))},
        limits={"lane": data.draw(st.integers(1, 2))},
    )
    path, _ = longest_path(plan, known)
    took = simulate(plan, known, slots, rules).seconds
    assert max(path, known.work / slots) - 1e-6 <= took <= known.work + 1e-6
    in_lane = sum(known.length(chunk) for chunk in rules.lanes)
    assert took >= in_lane / rules.limits["lane"] - 1e-6


def test_a_pause_gives_the_slot_away_but_not_the_only_one():
    plan = PlanBuilder().chunk("a").chunk("b").chunk("c").build()
    known = Recording(spans=((1.0, 5.0, 1.0), (3.0,), (3.0,)), outcomes=(OK,) * 3)
    assert simulate(plan, known, 1, Rules()).seconds == 13
    assert simulate(plan, known, 2, Rules()).seconds == 7
    assert [simulate(plan, known, slots, Rules()).peak for slots in (1, 2, 3, 9)] == [1, 2, 3, 3]


def test_a_group_takes_what_its_call_took():
    plan = PlanBuilder().chunk("first").chunk("a", require=["first"]).chunk("b").group("a", "b").build()
    dispatch, events = FakeDispatch(), []

    async def aggregate(members):
        await asyncio.sleep(7)

    async def nop(name):
        await asyncio.sleep(2)
        return row(name)

    dispatch.aggregate = aggregate
    dispatch.functions["test.nop"] = nop
    for width in (1, 2):
        events.clear()
        _, took = run_engine(
            lambda clock, width=width: Engine(
                plan, dispatch, RunOptions(run_id="r", concurrency=width), [events.append], clock=clock
            )
        )
        known = recording(plan, events)
        (group,) = [number for number, node in enumerate(plan.nodes) if node.kind is NodeKind.GROUP]
        assert known.spans[group] == (7.0,)
        assert simulate(plan, known, width, Rules()).seconds == took == 2 + 7 + 4 / width


def test_a_run_that_was_cut_short_says_what_never_ended():
    plan = PlanBuilder().chunk("a").chunk("b").build()
    dispatch, events = FakeDispatch(), []
    run_engine(lambda clock: Engine(plan, dispatch, RunOptions(run_id="r"), [events.append], clock=clock))
    known = recording(plan, events[:3])
    assert (known.unknown, known.spans[1]) == ((1,), ())


def test_what_a_resumed_run_took_over_takes_what_its_row_says():
    plan = PlanBuilder().chunk("a").chunk("b").build()
    tags = [chunk.tag for chunk in plan.chunks]
    common = {"run_id": "r", "function": "f", "id": "i", "name": "n", "sls": "s"}
    row_ = {"result": True, "changes": {}, "duration": 4000.0}
    events = [
        ChunkStarted(seq=0, time=1.0, tag=tags[0], **common),
        ChunkFinished(run_id="r", seq=1, time=1.0, tag=tags[0], row=row_, why="met"),
        ChunkStarted(seq=2, time=1.0, tag=tags[1], **common),
        ChunkFinished(run_id="r", seq=3, time=7.0, tag=tags[1], row=row_, why="met"),
    ]
    assert recording(plan, events, resumed=True).spans == ((4.0,), (6.0,))
    assert recording(plan, events).spans == ((0.0,), (6.0,))
    assert recording(plan, events).wall == 6.0, "what comes before the first state is not the states' time"


def test_more_slots_never_help_where_everything_is_one_chain():
    builder = PlanBuilder().chunk("c0")
    for number in range(1, 6):
        builder.chunk(f"c{number}", require=[f"c{number - 1}"])
    plan = builder.build()
    known = Recording(spans=((2.0,),) * 6, outcomes=(OK,) * 6)
    took = [simulate(plan, known, slots, Rules()).seconds for slots in range(1, 5)]
    assert all(one == two == 12 for one, two in pairwise(took))
    assert longest_path(plan, known) == (12.0, [0, 1, 2, 3, 4, 5])
