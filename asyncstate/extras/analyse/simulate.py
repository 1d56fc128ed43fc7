"""Simulation of a plan on a virtual clock: with the real scheduler and the recorded times of states."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import msgspec

from asyncstate.model.plan import NodeKind
from asyncstate.run.machine import Machine

if TYPE_CHECKING:
    from asyncstate.extras.analyse.recording import Recording
    from asyncstate.model.plan import Plan
    from asyncstate.plans.record import PlanRecord


class Rules(msgspec.Struct, frozen=True):
    """The limits of a run beside its graph: chunks that run alone, the lanes of chunks, the sizes of lanes."""

    exclusive: frozenset[int] = frozenset()
    lanes: Mapping[int, Sequence[str]] = {}
    limits: Mapping[str, int] = {}

    @classmethod
    def of(cls, record: PlanRecord) -> Rules:
        """Return the limits that a record of a plan names."""
        return cls(record.exclusive, record.lanes_of, record.lanes)


class Simulation(msgspec.Struct, frozen=True):
    """A simulated run: its duration, and the largest number of slots in use."""

    seconds: float
    peak: int


def simulate(plan: Plan, recording: Recording, concurrency: int, rules: Rules) -> Simulation:
    """Run a plan with another number of slots. Each state has its recorded time and outcome.

    So verdicts, listeners and the effects of failures equal the recorded ones. As in a run, a state between two
    attempts releases its slot, unless there is only one.
    """
    machine = Machine(plan, exclusive=rules.exclusive, lanes=rules.lanes, limits=rules.limits)
    spans = recording.spans
    gives_way = concurrency > 1
    clock: list[tuple[float, int, int, int]] = []
    resuming: deque[tuple[int, int]] = deque()
    now, busy, peak, begun = 0.0, 0, 0, 0
    while True:
        while busy < concurrency:
            if resuming:
                node, part = resuming.popleft()
            elif (work := machine.take()) is not None:
                node, part = work.node, 0
                if not work.verdict.runs and not recording.length(node):  # It ends before the next one is taken.
                    machine.done(node, recording.outcomes[node])
                    continue
            else:
                break
            busy += 1
            begun += 1
            heappush(clock, (now + (spans[node][part] if spans[node] else 0.0), begun, node, part))
        peak = max(peak, busy)
        if not clock:
            return Simulation(now, peak)
        now, _, node, part = heappop(clock)
        worked, last = part % 2 == 0, part + 1 >= len(spans[node])
        if worked and (last or gives_way):
            busy -= 1
        if last:
            machine.done(node, recording.outcomes[node])
        elif gives_way and not worked:
            resuming.append((node, part + 1))
        else:
            begun += 1
            heappush(clock, (now + spans[node][part + 1], begun, node, part + 1))


def longest_path(plan: Plan, recording: Recording) -> tuple[float, list[int]]:
    """Return the longest chain of nodes that must run one after another, and its seconds.

    Listeners run one after the other after everything else, so the ones that ran are at its end. No run is shorter,
    at any concurrency.
    """
    dag = plan.dag
    ends = [0.0] * dag.size
    last = [-1] * dag.size
    waiting = dag.in_degrees()
    free = [node for node in range(dag.size) if not waiting[node]]
    for node in free:
        ends[node] += recording.length(node)
        for successor in dag.successors(node):
            if last[successor] == -1 or ends[node] > ends[successor]:
                ends[successor], last[successor] = ends[node], node
            waiting[successor] -= 1
            if not waiting[successor]:
                free.append(successor)
    listeners = [node for node in range(len(plan.chunks), dag.size) if plan.nodes[node].kind is NodeKind.LISTENER]
    apart = set(listeners)
    node = max((each for each in range(dag.size) if each not in apart), key=ends.__getitem__, default=-1)
    seconds = ends[node] if node >= 0 else 0.0
    path: list[int] = []
    while node >= 0:
        path.append(node)
        node = last[node]
    called = [each for each in listeners if recording.spans[each]]
    return seconds + sum(map(recording.length, called)), [*path[::-1], *called]
