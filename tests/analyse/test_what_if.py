"""what-if: the table, the critical path and what each restriction costs."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import PlanBuilder

from asyncstate.analyse import what_if as module
from asyncstate.analyse.curve import curve_svg
from asyncstate.analyse.recording import Recording
from asyncstate.analyse.simulate import Rules
from asyncstate.analyse.what_if import spread, what_if, what_if_data, what_if_lines
from asyncstate.model.plan import ContingentEdge
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


def costs(found, slots):
    return {(cost.kind, cost.name): (cost.seconds, cost.saved) for cost in found.costs if cost.slots == slots}


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
    assert curve_svg(every, "t").startswith("<svg")


def test_a_common_resource_costs_what_its_states_could_have_done_at_the_same_time():
    plan = states(4).build()
    for before in range(3):
        plan.dag.add(before, before + 1, "footprint", ("pkgdb",))
    plan.dag.add(0, 1, "footprint", ("path:/etc/x",))
    found = what_if(plan, known(plan), [1, 4], Rules())
    assert costs(found, 2) == {("footprint", "pkgdb"): (2, 2)}, "the first two still share a file"
    assert costs(found, 4) == {("footprint", "pkgdb"): (2, 2)}
    assert "     2.0 s  pkgdb: without it 2.0 s" in "\n".join(what_if_lines(found))


def test_a_requisite_is_not_dropped_with_the_footprint_beside_it():
    plan = PlanBuilder().chunk("a").chunk("b", require=["a"]).build()
    plan.dag.add(0, 1, "footprint", ("pkgdb",))
    assert not what_if(plan, known(plan), [2], Rules()).costs


def test_a_contingent_edge_belongs_to_its_resource():
    plan = states(3).build()
    plan = msgspec.structs.replace(plan, contingent=(ContingentEdge(0, 1, 2, ("path:/x",)),))
    found = what_if(plan, known(plan, 4, 4, 9), [2, 3], Rules())
    assert costs(found, 3) == {}, "the proof comes too late, so the other end frees it"
    assert found.points[-1].seconds == 9


def test_a_lane_and_states_that_run_alone_cost():
    plan = states(6).build()
    rules = Rules(frozenset({5}), dict.fromkeys(range(4), ("downloads",)), {"downloads": 1})
    found = what_if(plan, known(plan), [6], rules)
    assert costs(found, 6) == {("lane", "downloads"): (2, 3), ("exclusive", "1 state"): (4, 1)}
    text = "\n".join(what_if_lines(found))
    assert "lane downloads: without it 2.0 s" in text
    assert "1 state running alone: without it 4.0 s" in text


def test_explicit_order_and_transactions_cost():
    plan = states(4).group("c2", "c3").build()
    plan.dag.add(0, 1, "stage")
    nodes = tuple(msgspec.structs.replace(node, transaction=True) if node.members else node for node in plan.nodes)
    plan = msgspec.structs.replace(plan, nodes=nodes)
    found = what_if(plan, known(plan, 4, 4, 5, 5, concurrency=4), [4], Rules())
    assert costs(found, 4) == {("transaction", "2 states, test.nop: c2 …"): (8, 2)}
    found = what_if(plan, known(plan, 4, 4, 1, 1, concurrency=4), [4], Rules())
    assert costs(found, 4) == {("order", "explicit order"): (4, 4)}


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


def test_a_plan_without_states_has_an_answer():
    plan = PlanBuilder().build()
    found = what_if(plan, known(plan), [1, 2], Rules())
    assert [point.seconds for point in found.points] == [0, 0]
    assert list(what_if_lines(found))
    assert "</svg>" in curve_svg(found, "nothing")


def test_a_title_cannot_leave_its_element():
    plan = states(2).build()
    svg = curve_svg(what_if(plan, known(plan), [1, 2, 4], Rules()), "a</text><script>")
    assert "<script" not in svg
    assert "a&lt;/text&gt;" in svg


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
    for each in range(1, 40):
        plan.dag.add(each - 1, each, "footprint", (f"path:/{each}",))
    lanes = {chunk: (f"l{chunk}",) for chunk in range(40)}
    found = what_if(plan, known(plan), range(1, 65), Rules(lanes=lanes))
    assert found.skipped == 64 - len(found.points) > 50
    assert f"{found.skipped} more numbers of slots were not simulated" in "\n".join(what_if_lines(found))
    assert len(counted) < 30
    assert json.loads(json.dumps(what_if_data(found)))["skipped"] == found.skipped
