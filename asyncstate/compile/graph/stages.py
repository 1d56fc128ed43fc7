"""Explicit orders as barriers: all states of a smaller order end before a state of a larger one begins.

    states of order 1 ──▶ STAGE "order 5" ──▶ states of order 5 ──▶ STAGE "order last" ──▶ states of order last

States with the same explicit order may run at the same time. Automatic numbers only break ties, so all states without
an explicit order share one stage. A state that one of a smaller order requires belongs to that stage.

Where files order their states (`asyncstate.compile.planning`), each state waits for the one before it.
"""

from __future__ import annotations

from bisect import bisect_right
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from asyncstate.compile.graph.order import LAST
from asyncstate.compile.high.highstate import FIRST_AUTO_ORDER
from asyncstate.compile.low.lowstate import UNSET
from asyncstate.model.dag import FILE_ORDER, STAGE
from asyncstate.model.plan import Node, NodeKind
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asyncstate.compile.graph.assemble import PlanBuilder
    from asyncstate.compile.graph.requisite_graph import RequisiteGraph
    from asyncstate.compile.low.lowstate import Draft


class Stages(Value):
    """The stage of each node; ``common``: of states without an explicit order; ``last``: with ``order: last``."""

    of: list[float]
    common: float
    last: float


def effective_stages(graph: RequisiteGraph, serial: Sequence[int], cap: int) -> Stages:
    """Return the stage of each node: the smallest of its own and its dependents'."""
    drafts = graph.drafts
    numbered = any(draft.automatic and draft.order is not UNSET for draft in drafts)
    common = float(FIRST_AUTO_ORDER if numbered else cap)
    own = [common if draft.automatic else _explicit(draft, cap) for draft in drafts]
    stages = [float("inf")] * len(graph.chunk)
    for node in reversed(serial):
        stage = own[graph.chunk[node]]
        for other in graph.after[node]:
            if graph.kind[other] is NodeKind.SET and stages[other] == float("inf"):
                stages[other] = min((stages[after] for after in graph.after[other]), default=stages[other])
            stage = min(stage, stages[other])
        stages[node] = stage
    return Stages(stages, common, float(cap + LAST))


def _explicit(draft: Draft, cap: int) -> float:
    order = draft.order
    if isinstance(order, (int, float)):
        return float(order if order >= 0 else order + cap + LAST)
    return 0.0 if order == "first" else float(cap + LAST)


class _Barriers:
    """The barriers so far, with rising levels, and what no barrier waits for yet.

    The floor of a barrier is the smallest stage that it waits for but the one below it does not. Every state of a stage
    above the floor must wait for the barrier, also one of a stage below its level.
    """

    def __init__(self, builder: PlanBuilder, stages: Stages) -> None:
        self._builder = builder
        self._common = stages.common
        self._last = stages.last
        self._levels: list[float] = []
        self._floors: list[float] = []
        self._nodes: list[int] = []
        self._pending: list[tuple[float, int]] = []

    def before(self, stage: float) -> int | None:
        """Return the barrier that a state of ``stage`` waits for; it ends after all earlier states of smaller ones."""
        position = bisect_right(self._levels, stage)
        base = self._nodes[position - 1] if position else None
        least = min(self._floors[position:], default=stage)
        if self._pending:
            least = min(least, self._pending[0][0])
        if least >= stage:
            return base
        barrier = self._builder.add_node(Node(NodeKind.STAGE, label=self._label(stage)))
        if base is not None:
            self._builder.dag.add(base, barrier, STAGE)
        for above in zip(self._floors[position:], self._nodes[position:], strict=True):
            heappush(self._pending, above)
        while self._pending and self._pending[0][0] < stage:
            self._builder.dag.add(heappop(self._pending)[1], barrier, STAGE)
        if position and self._levels[position - 1] == stage:
            position -= 1
            least = min(least, self._floors[position])
        self._levels[position:] = [stage]
        self._floors[position:] = [least]
        self._nodes[position:] = [barrier]
        return barrier

    def _label(self, stage: float) -> str:
        if stage == self._common:
            return "states without an order"
        return "order last" if stage == self._last else f"order {stage:.15g}"

    def passed(self, stage: float, node: int) -> None:
        """Add a state that later states of larger stages must wait for."""
        heappush(self._pending, (stage, node))


def add_stages(builder: PlanBuilder, serial: Sequence[int], stages: Stages) -> None:
    """Add the barriers along the serial order. A state never waits for one that comes after it in serial order."""
    barriers = _Barriers(builder, stages)
    for node in serial:
        number = builder.number[node]
        barrier = barriers.before(stages.of[node])
        if barrier is not None:
            builder.dag.add(barrier, number, STAGE)
        barriers.passed(stages.of[node], number)


def add_file_order(builder: PlanBuilder) -> None:
    """Let each state wait for the one before it in serial order.

    A state with ``parallel: True`` begins at its place, too, and later states do not wait for it.
    """
    last = None
    for number in builder.in_serial_order():
        if last is not None:
            builder.dag.add(last, number, FILE_ORDER)
        node = builder.nodes[number]
        if node.kind is not NodeKind.CHUNK or builder.chunks[node.chunk].args.get("parallel") is not True:
            last = number
