"""``prereq``: the target gets a second node, its CHECK, which runs the target in test mode.

    CHECK of the target ──prereq──▶ state with the prereq ──prerequired──▶ target

The words on the arrows are the kinds of the edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.compile.graph.requisite_graph import PREREQ, PREREQUIRED
from asyncstate.model.plan import NodeKind

if TYPE_CHECKING:
    from asyncstate.compile.graph.requisite_graph import RequisiteGraph


def add_prereq(graph: RequisiteGraph, asking: int, target: int) -> None:
    """Add the edges of one ``prereq``, which the state ``asking`` has on ``target``.

    In a chain (a has a prereq on b, b on c) the check of b waits for the check of c only if a is declared before b, as
    in Salt: an existing check gets the new edge, but a later one copies all edges of its target except ``prereq``.
    """
    check = graph.check_of.get(target)
    if check is None:
        check = _add_check(graph, target)
    if not graph.require(asking, check, PREREQ):
        return
    graph.add_edge(check, asking, PREREQ)
    graph.add_edge(asking, target, PREREQUIRED)
    graph.require(target, asking, PREREQUIRED)
    own_check = graph.check_of.get(asking)
    if own_check is not None:
        graph.add_edge(check, own_check, PREREQ)


def _add_check(graph: RequisiteGraph, target: int) -> int:
    """Add the CHECK node of a target. It waits for what the target waits for so far, except for its prereqs."""
    check = graph.add_node(NodeKind.CHECK, target)
    graph.check_of[target] = check
    for kind, node in graph.requisites_of(target):
        if kind not in (PREREQ, PREREQUIRED):
            graph.add_edge(node, check, kind)
    return check
