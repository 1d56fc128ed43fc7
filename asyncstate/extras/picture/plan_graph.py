"""A plan as a graph: a picture, or JSON."""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING, Any

from asyncstate.extras.picture.page_data import node_label
from asyncstate.extras.picture.picture import GraphEdge, Picture
from asyncstate.report.edges import plan_edges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.model.plan import Node, Plan


def graph_edges(plan: Plan) -> Iterator[GraphEdge]:
    """Return every edge once, with all its sources; a requisite among them determines its style."""
    return starmap(GraphEdge, plan_edges(plan))


def picture_of(plan: Plan) -> Picture:
    """Return the plan as a graph to draw."""
    picture = Picture(edges=list(graph_edges(plan)))
    for node in plan.nodes:
        picture.add(_label(plan, node), node.kind, place=plan.chunks[node.chunk].where if node.chunk >= 0 else "")
    return picture


def _label(plan: Plan, node: Node) -> str:
    return node_label(plan, node, group="aggregate")


def graph_data(plan: Plan, *, every_edge: bool = True) -> dict[str, Any]:
    """Return ``{nodes: [{id, kind, label, tag, sls, file, line}], edges: […], contingent: […], digest}``.

    A contingent edge is ``{before, after, proof, resources}``: it binds unless the proof succeeds first. An edge is
    ``{before, after, sources, resources}``; the last are the resources common to both footprints.
    """
    nodes = [_node_data(plan, number, node) for number, node in enumerate(plan.nodes)]
    edges = [
        {"before": edge.before, "after": edge.after, "sources": edge.sources, "resources": edge.resources}
        for edge in (graph_edges(plan) if every_edge else picture_of(plan).reduced().edges)
    ]
    contingent = [
        {"before": edge.before, "after": edge.after, "proof": edge.proof, "resources": edge.resources}
        for edge in plan.contingent
    ]
    return {"nodes": nodes, "edges": edges, "contingent": contingent, "digest": plan.digest}


def _node_data(plan: Plan, number: int, node: Node) -> dict[str, Any]:
    data: dict[str, Any] = {"id": number, "kind": node.kind.name.lower(), "label": _label(plan, node)}
    if node.chunk >= 0:
        chunk = plan.chunks[node.chunk]
        data |= {"tag": chunk.tag, "sls": chunk.sls, "file": chunk.file, "line": chunk.line}
    if node.members:
        data["members"] = node.members
    return data
