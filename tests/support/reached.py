"""Looks through the graphs of plans, for tests of their orders."""

from __future__ import annotations

from asyncstate.model.plan import NodeKind


def reach(dag, start, *, forward=True):
    """Every node that can be reached from ``start``, including ``start``; against the edges if not ``forward``."""
    step = dag.successors if forward else dag.predecessors
    seen = set(start)
    stack = list(seen)
    while stack:
        for node in step(stack.pop()):
            if node not in seen:
                seen.add(node)
                stack.append(node)
    return seen


def node_of_check(plan, chunk):
    """The CHECK node of a chunk, or None if no other chunk names it in ``prereq``."""
    checks = (number for number, node in enumerate(plan.nodes) if (node.kind, node.chunk) == (NodeKind.CHECK, chunk))
    return next(checks, None)
