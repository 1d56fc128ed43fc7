"""A plan as JSON, for the process that searches: its states without arguments, and its graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.model.chunk import LowChunk
from asyncstate.model.dag import Dag
from asyncstate.model.plan import Node, NodeKind, Plan

if TYPE_CHECKING:
    from collections.abc import Mapping


def sketch(plan: Plan) -> dict[str, Any]:
    """Return the input of `plan_of`. Pass a plan without secrets."""
    return {
        "chunks": [
            [chunk.index, chunk.state, chunk.fun, chunk.id, str(chunk.name), chunk.sls, chunk.env, chunk.order]
            for chunk in plan.chunks
        ],
        "places": [[chunk.file, chunk.line] for chunk in plan.chunks],
        "nodes": [[int(node.kind), node.chunk, node.members, node.label, node.transaction] for node in plan.nodes],
        "rank": plan.rank,
        "edges": [[edge.before, edge.after, edge.source] for edge in plan.dag.edges()],
        "unknown": [[chunk, reason] for chunk, reason in plan.unknown.items()],
        "digest": plan.digest,
    }


def plan_of(drawn: Mapping[str, Any]) -> Plan:
    """Return a plan with the order of the sketched one. It can be searched and described, not run."""
    chunks = tuple(
        LowChunk(*[*fields, {}, (), file, line])
        for fields, (file, line) in zip(drawn["chunks"], drawn["places"], strict=True)
    )
    dag = Dag(len(drawn["nodes"]))
    for before, after, source in drawn["edges"]:
        dag.add(before, after, source)
    return Plan(
        chunks=chunks,
        nodes=tuple(
            Node(NodeKind(kind), chunk, tuple(members), label, transaction)
            for kind, chunk, members, label, transaction in drawn["nodes"]
        ),
        requisites=((),) * len(chunks),
        rank=tuple(drawn["rank"]),
        dag=dag,
        unknown=dict(drawn["unknown"]),
        digest=drawn["digest"],
    )


class Job(msgspec.Struct):
    """One run in a room. ``settings`` belong to the tree; a ``priority`` of None means serial order."""

    settings: dict[str, Any]
    sls: list[str] | None = None
    saltenv: str | None = None
    exclude: list[Any] = []
    ids: list[str] = []
    priority: list[int] | None = None
    wants_plan: bool = False


class Answer(msgspec.Struct):
    """The output of `inside`: the rows, or the mistakes in the tree."""

    rows: dict[str, dict[str, Any]] = {}
    ended: str = ""
    digest: str = ""
    plan: dict[str, Any] | None = None
    issues: list[tuple[str, str, int]] = []
    """Message, file and line of each mistake, if the tree does not compile."""
