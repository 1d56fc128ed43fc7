"""Checks of the plans that hosts send. No host is trusted: the plan of one must not stop others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from asyncstate.extras.fleet.errors import MessageRefused
from asyncstate.extras.fleet.join.joined_graph import REQUISITES
from asyncstate.model.dag import Dag

if TYPE_CHECKING:
    from asyncstate.extras.fleet.protocol import HostPlan

_SPARE: Final = 1000
"""Most nodes of a plan that are neither a state nor the end of an edge."""


def require_sound(plan: HostPlan) -> None:
    """Raise MessageRefused for a plan that refers to missing states, or whose states wait in a cycle.

    The memory for a sound plan is proportional to its size in bytes, whatever number of nodes it claims.
    """
    states, nodes = len(plan.states), plan.nodes
    refers = (
        states <= nodes <= states + len(plan.edges) + _SPARE
        and len(plan.edges) == 2 * len(plan.sources)
        and all(0 <= node < nodes for node in plan.edges)
        and all(0 <= chunk < states <= node < nodes for chunk, node in plan.checks)
        and all(0 <= each.chunk < states and each.kind in REQUISITES for each in plan.requires)
        and all(0 <= chunk < states for chunk, _ in (*plan.orders, *plan.lanes))
    )
    if not refers:
        raise MessageRefused(f"the plan of host {plan.host} is malformed: it refers to states that it does not have")
    dag = Dag(nodes)
    for place in range(0, len(plan.edges), 2):
        dag.add(plan.edges[place], plan.edges[place + 1], "")
    if len(dag.topological_order(lambda node: node)) < nodes:
        raise MessageRefused(f"the plan of host {plan.host} is malformed: its states wait for each other in a circle")
