"""A machine that checks itself: right ones pass (all tests of the machine run with it), spoilt ones do not."""

from __future__ import annotations

import random

import pytest
from fake_dispatch import FakeDispatch
from hypothesis import given
from hypothesis import strategies as st
from plans import PlanBuilder
from validating_machine import InvalidMachine, ValidatingMachine

from asyncstate.run.engine import Engine
from asyncstate.run.machine import Machine
from tests.run.test_engine import run
from tests.run.test_machine import CHANGED, OK, outcomes, plans, run_all


def halfway():
    """A machine in the middle of everything: node 0 has ended, 1 runs, 2 is ready, 3 is parked, the others wait."""
    builder = PlanBuilder().chunk("ended").chunk("runs").chunk("ready").chunk("parked").chunk("waits", require=["runs"])
    builder.chunk("asks", prereq=["asked"], require=["runs"]).chunk("asked", require=["runs"])
    plan = builder.set("both", "ended", "waits").listen("waits", "ended").listen("ended", "ended").build()
    machine = ValidatingMachine(plan, lanes={1: ["x"], 3: ["x"]}, exclusive={4})
    machine.done(machine.take().node, CHANGED)
    assert machine.take().node == 1
    machine._ready = [entry for entry in machine._ready if entry[1] != 3]
    assert not machine._enter_lanes(3)
    machine.validate()
    return machine


SPOILT = {
    "node 0 is in 2 places": lambda m: m.running.add(0),
    "node 2 is in 2 places": lambda m: m._parked["x"].append(2),
    "node 2 is ready with a rank": lambda m: m._ready.__setitem__(0, (0, 2)),
    "nodes have a priority, and there are": lambda m: setattr(m, "_rank", (*m._rank, 0)),
    "the heap is none": lambda m: m._ready.append((m._rank[0], 0)),
    "node 1 counts as not started": lambda m: m._started.__setitem__(1, 0),
    "node 2 counts as started": lambda m: m._started.__setitem__(2, 1),
    "node 7 takes no time": lambda m: m._parked["x"].append(7),
    "something exclusive runs alone: True": lambda m: setattr(m, "_alone", True),
    "something exclusive runs beside others": lambda m: (m.running.add(4), setattr(m, "_alone", True)),
    "closed, and nobody stopped it": lambda m: setattr(m, "_closed", True),
    "node 4 waits for 2, and 1 have not ended": lambda m: m._waiting.__setitem__(4, 2),
    "node 4 waits for 0, and 1 have not ended": lambda m: m._waiting.__setitem__(4, 0),
    "node 4 did not wait": lambda m: m._make_ready(4),
    "node 2 is free, and forgotten": lambda m: m._ready.clear(),
    "places taken in lanes": lambda m: m._taken.update(["y"]),
    "lane x is overfull": lambda m: (m.running.add(3), m._taken.update(["x"])),
    "which has a place": lambda m: m._limits.update(x=2),
    "node 2 waits for lane x": lambda m: (m._ready.clear(), m._parked["x"].append(2)),
    "are called beside others": lambda m: m._make_ready(9),
    "is still to come": lambda m: m._make_ready(9),
    "listeners called: []": lambda m: m._called.add("x"),
    "checks that were not made": lambda m: m._unchecked.clear(),
    "lacks a start": lambda m: m._history.remove(1 << 3 | 3),
    "lacks an end": lambda m: m._history.append(1 << 3 | 4),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_whatever_is_spoilt_is_noticed(spoil, request):
    machine = halfway()
    machine._limits = {}
    spoil(machine)
    with pytest.raises(InvalidMachine) as raised:
        machine.validate()
    assert request.node.callspec.id in str(raised.value)


def test_what_ends_without_running_is_noticed():
    machine = halfway()
    with pytest.raises(InvalidMachine, match="node 2 ended, and does not run"):
        machine.done(2, OK)


def test_a_listener_that_is_due_and_forgotten_is_noticed():
    machine = ValidatingMachine(PlanBuilder().chunk("a").listen("a", "a").build())
    machine._call_listener = lambda: None
    node = machine.take().node
    with pytest.raises(InvalidMachine, match="listener 1 is due, and not called"):
        machine.done(node, CHANGED)


@given(plan=plans(), data=st.data(), width=st.integers(1, 8), seed=st.integers(0, 2**32))
def test_it_does_what_the_machine_does(plan, data, width, seed):
    results = {chunk.id: data.draw(outcomes) for chunk in plan.chunks}
    plain = run_all(Machine(plan), results, width, random.Random(seed))
    assert run_all(ValidatingMachine(plan), results, width, random.Random(seed)) == plain


def test_large_plans_are_checked_now_and_then():
    builder = PlanBuilder()
    for number in range(1000):
        builder.chunk(f"c{number}")
    machine = ValidatingMachine(builder.build())
    checks = []
    machine.validate = lambda: checks.append(1)
    run_all(machine)
    assert 30 <= len(checks) < 64


class Spoilt(ValidatingMachine):
    """Frees what waits for it too early."""

    def take(self):
        work = super().take()
        if work is not None:
            for successor in self.plan.dag.successors(work.node):
                self._waiting[successor] -= 1
        return work


def test_a_run_with_a_spoilt_machine_ends_with_what_is_wrong(monkeypatch):
    monkeypatch.setattr(Engine, "machine", Spoilt)
    plan = PlanBuilder().chunk("a").chunk("b", require=["a"]).build()
    with pytest.raises(InvalidMachine, match="node 1 waits for -1, and 0 have not ended"):
        run(plan, FakeDispatch())


def test_tests_run_with_it():
    assert Engine.machine is ValidatingMachine
