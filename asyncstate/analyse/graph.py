"""A plan as a graph: a picture, or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.analyse.picture import GraphEdge, Picture, Point, family_of, reduced
from asyncstate.model.encode import json_bytes
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind
from asyncstate.report.html import place_text
from asyncstate.report.summary import describe_tag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.model.plan import Node, Plan


def graph_edges(plan: Plan) -> Iterator[GraphEdge]:
    """Yield every edge once, with all its sources; a requisite among them determines its style."""
    sources: dict[tuple[int, int], list[str]] = {}
    for edge in plan.dag.edges():
        sources.setdefault((edge.before, edge.after), []).append(edge.source)
    for number, node in enumerate(plan.nodes):
        if node.kind is NodeKind.LISTENER:
            sources.update(((target, number), [RequisiteKind.LISTEN.value]) for target in node.members)
    for (before, after), reasons in sources.items():
        yield GraphEdge(before, after, tuple(reasons), family_of(reasons), plan.dag.resources(before, after))


def node_label(plan: Plan, node: Node) -> str:
    """Return the label of a node: the state of a chunk, or the members of another node."""
    match node.kind:
        case NodeKind.CHUNK:
            return describe_tag(plan.chunks[node.chunk].tag)
        case NodeKind.CHECK:
            return f"check {describe_tag(plan.chunks[node.chunk].tag)}"
        case NodeKind.SET:
            return node.label or "all of"
        case NodeKind.STAGE:
            return node.label or "stage"
        case NodeKind.GROUP:
            return node.label or "aggregate"
        case NodeKind.LISTENER:
            return describe_tag(node.label)
        case NodeKind.REMOTE:
            return node.label


def picture_of(plan: Plan) -> Picture:
    """Return the plan as a graph to draw."""
    nodes = tuple(Point(node_label(plan, node), node.kind, place=_place(plan, node)) for node in plan.nodes)
    return Picture(nodes, tuple(graph_edges(plan)))


def _place(plan: Plan, node: Node) -> str:
    """Return the place of a state, "" for other nodes."""
    if node.chunk < 0:
        return ""
    chunk = plan.chunks[node.chunk]
    return place_text(chunk.file, chunk.line)


def to_json(plan: Plan, *, every_edge: bool = True) -> str:
    """Return ``{nodes: [{id, kind, label, tag, sls, file, line}], edges: […], contingent: […], digest}``.

    A contingent edge is ``{before, after, proof, resources}``: it binds unless the proof succeeds first. An edge is
    ``{before, after, sources, resources}``; the last are the resources common to both footprints.
    """
    nodes = [_node_data(plan, number, node) for number, node in enumerate(plan.nodes)]
    edges = [
        {"before": edge.before, "after": edge.after, "sources": edge.sources, "resources": edge.resources}
        for edge in (graph_edges(plan) if every_edge else reduced(picture_of(plan)).edges)
    ]
    contingent = [
        {"before": edge.before, "after": edge.after, "proof": edge.proof, "resources": edge.resources}
        for edge in plan.contingent
    ]
    return json_bytes({"nodes": nodes, "edges": edges, "contingent": contingent, "digest": plan.digest}).decode() + "\n"


def _node_data(plan: Plan, number: int, node: Node) -> dict[str, Any]:
    data: dict[str, Any] = {"id": number, "kind": node.kind.name.lower(), "label": node_label(plan, node)}
    if node.chunk >= 0:
        chunk = plan.chunks[node.chunk]
        data |= {"tag": chunk.tag, "sls": chunk.sls, "file": chunk.file, "line": chunk.line}
    if node.members:
        data["members"] = node.members
    return data
