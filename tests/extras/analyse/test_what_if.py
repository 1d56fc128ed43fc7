"""what-if: the table and the critical path."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import PlanBuilder

from asyncstate.extras.analyse import what_if as module
from asyncstate.extras.analyse.recording import Recording
from asyncstate.extras.analyse.simulate import Rules
from asyncstate.extras.analyse.what_if import spread, what_if, what_if_data, what_if_lines
from asyncstate.model.result import Outcome
from tests.run.test_machine import plans

OK = Outcome(result=True, changed=False)


def known(plan, *seconds, concurrency=2, wall=1.0, unknown=()):
    spans = [(float(each),) for each in seconds] or [(1.0,)] * len(plan.chunks)
    spans += [()] * (len(plan.nodes) - len(spans))
    return Recording(tuple(spans), (OK,) * len(plan.nodes), unknown, concurrency, wall)


def states(number):
    builder = PlanBuilder()
    for each in range(number):
        builder.chunk(f"c{each}")
    return builder


def test_the_table_has_time_gain_and_bound_of_each_number_of_slots():
    plan = states(8).build()
    found = what_if(plan, known(plan), range(1, 17), Rules())
    by_slots = {point.slots: point for point in found.points}
    assert [by_slots[slots].seconds for slots in (1, 2, 3, 4, 8, 16)] == [8, 4, 3, 2, 1, 1]
    assert (by_slots[4].speedup, by_slots[3].bound, by_slots[16].bound) == (4, pytest.approx(8 / 3), 1)
    assert found.enough.slots == 8
    text = "\n".join(what_if_lines(found))
    assert "    4     2.0 s    4.0x     2.0 s" in text
    assert "    2     4.0 s    2.0x     4.0 s  as recorded" in text
    assert "More than 8 slots would gain less" in text


@given(plan=plans(), data=st.data(), most=st.integers(1, 6))
def test_it_is_the_same_for_any_choice_of_slots_and_never_beats_the_bound(plan, data, most):
    recording = known(
        plan, *(data.draw(st.integers(0, 9)) for _ in plan.chunks), concurrency=data.draw(st.integers(1, 4))
    )
    every = what_if(plan, recording, range(1, most + 1), Rules())
    alone = what_if(plan, recording, [most], Rules())
    assert every.points[-1] == alone.points[-1]
    assert all(point.seconds >= point.bound - 1e-9 for point in every.points)
    assert all(point.speedup <= point.slots + 1e-9 for point in every.points)
    assert json.loads(json.dumps(what_if_data(every)))["enough"] == every.enough.slots


def test_a_long_path_is_cut_to_what_matters_and_unknown_states_are_named():
    builder = PlanBuilder().chunk("c0")
    for number in range(1, 60):
        builder.chunk(f"c{number}", require=[f"c{number - 1}"])
    plan = builder.build()
    seconds = [10 if number % 10 == 5 else 0.5 + number / 1000 for number in range(60)]
    found = what_if(plan, known(plan, *seconds, unknown=(59,)), range(1, 65), Rules())
    lines = list(what_if_lines(found))
    assert len(lines) < 60
    assert sum("test.nop" in line for line in lines) == 20
    assert any("shorter ones" in line for line in lines)
    assert "1 state never ended in this run: taken as no time at all." in lines[1]


def test_a_lane_and_states_that_run_alone_are_kept():
    plan = states(6).build()
    rules = Rules(frozenset({5}), dict.fromkeys(range(4), ("downloads",)), {"downloads": 1})
    assert what_if(plan, known(plan), [6], rules).points[-1].seconds == 5


def test_a_plan_without_states_has_an_answer():
    plan = PlanBuilder().build()
    found = what_if(plan, known(plan), [1, 2], Rules())
    assert [point.seconds for point in found.points] == [0, 0]
    assert list(what_if_lines(found))


@given(
    numbers=st.lists(st.integers(1, 1024), min_size=1, max_size=200, unique=True).map(sorted),
    most=st.integers(8, 40),
    own=st.integers(1, 1024),
)
def test_of_many_numbers_of_slots_some_are_simulated_that_say_most(numbers, most, own):
    chosen = spread(numbers, most, own)
    assert set(chosen) <= set(numbers)
    assert chosen == sorted(set(chosen))
    assert {numbers[0], numbers[-1]} <= set(chosen)
    assert all(number in chosen for number in numbers if number == own or number & (number - 1) == 0)
    assert len(chosen) <= most + 14
    if len(numbers) <= most:
        assert chosen == numbers


def test_a_large_run_takes_no_more_simulations_than_it_can_afford(monkeypatch):
    monkeypatch.setattr(module, "_NODES", 100)
    counted = []
    real = module.simulate

    def simulate(*given):
        counted.append(given)
        return real(*given)

    monkeypatch.setattr(module, "simulate", simulate)
    plan = states(40).build()
    found = what_if(plan, known(plan), range(1, 65), Rules())
    assert found.skipped == 64 - len(found.points) > 50
    assert f"{found.skipped} more numbers of slots were not simulated" in "\n".join(what_if_lines(found))
    assert len(counted) < 30
    assert json.loads(json.dumps(what_if_data(found)))["skipped"] == found.skipped
