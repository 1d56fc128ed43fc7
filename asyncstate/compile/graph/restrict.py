"""Restrict a tree to a few IDs and what they depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.errors import CompileError, Issue
from asyncstate.model.plan import NodeKind
from asyncstate.model.walk import edges_through
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from asyncstate.compile.graph.requisite_graph import RequisiteGraph


def restrict(graph: RequisiteGraph, serial: Sequence[int], ids: Sequence[str], where: str) -> list[int]:
    """Return the nodes of the states of ``ids`` and the nodes they depend on, in serial order.

    The target of a prereq is kept and runs, too. Raises CompileError for a missing ID; ``where`` names the searched
    tree in the message.
    """
    known = {draft.id for draft in graph.drafts}
    missing = [id_ for id_ in ids if id_ not in known]
    if missing:
        raise CompileError([_no_such_id(id_, known, where) for id_ in missing])
    before: list[list[int]] = [[] for _ in graph.chunk]
    for node, targets in enumerate(graph.after):
        for target in targets:
            before[target].append(node)
    wanted = set(ids)
    kept = {node for node, draft in enumerate(graph.drafts) if draft.id in wanted}

    def needed(node: int) -> list[int]:
        return [*before[node], graph.chunk[node]] if graph.kind[node] is NodeKind.CHECK else before[node]

    kept.update([node for _, node in edges_through(kept, needed)])
    return [node for node in serial if node in kept]


def _no_such_id(id_: str, known: Collection[str], where: str) -> Issue:
    near = nearest(id_, known)
    hint = f"did you mean {near!r}?" if near else ""
    return Issue(f"No matches for ID '{id_}' found in {where}", code="E120", hint=hint)
