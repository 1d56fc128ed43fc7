"""``prereq``: the target gets a second node, run in test mode before the state that asks, and the target after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.compile.graph.requisite_graph import PREREQ, PREREQUIRED
from asyncstate.model.plan import NodeKind

if TYPE_CHECKING:
    from asyncstate.compile.graph.requisite_graph import RequisiteGraph


def add_prereq(graph: RequisiteGraph, asking: int, target: int) -> None:
    """Wire one ``prereq``: target's CHECK, then the state that asks, then the target itself.

    In a chain the check of a middle state waits for the check it asks for only if the outer state is declared first, as
    in Salt: a check that is there already is told of it, one that is made later takes over everything but a ``prereq``.
    """
    check = graph.check_of.get(target)
    if check is None:
        check = _add_check(graph, asking, target)
    if not graph.require(asking, check, PREREQ):
        return
    graph.add_edge(check, asking, PREREQ)
    graph.add_edge(asking, target, PREREQUIRED)
    graph.require(target, asking, PREREQUIRED)
    own_check = graph.check_of.get(asking)
    if own_check is not None:
        graph.add_edge(check, own_check, PREREQ)


def _add_check(graph: RequisiteGraph, asking: int, target: int) -> int:
    """Add the CHECK node of a target; it waits for whatever the target was found to wait for so far."""
    check = graph.add_node(NodeKind.CHECK, target)
    graph.check_of[target] = check
    graph.created_by[check] = asking
    for kind, node in graph.requisites_of(target):
        if kind not in (PREREQ, PREREQUIRED):
            graph.add_edge(node, check, kind)
    return check
