"""A plan as a graph: dot, mermaid, JSON, SVG. The reason for an edge decides how it is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.analyse.svg import Drawing, draw
from asyncstate.model.encode import json_bytes
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind
from asyncstate.report.summary import describe_tag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from asyncstate.model.plan import Node, Plan

_REQUISITES = frozenset(kind.value for kind in RequisiteKind)


class Line(msgspec.Struct, frozen=True):
    """How an edge is drawn: ``pattern`` is solid, dashed, dotted or bold."""

    pattern: str
    colour: str


_LINES = {
    "requisite": Line("solid", "#1f2933"),
    "stage": Line("bold", "#9aa5b1"),
    "footprint": Line("dashed", "#2b6cb0"),
    "group": Line("dotted", "#c05621"),
    "listen": Line("dashed", "#805ad5"),
    "set": Line("dotted", "#718096"),
}


class GraphEdge(msgspec.Struct, frozen=True):
    """An edge with all its reasons. ``family`` is requisite, stage, footprint, group, listen or set (all of).

    For a footprint, ``resources`` are those that both ends touch.
    """

    before: int
    after: int
    sources: tuple[str, ...]
    family: str
    resources: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The text beside the edge: the requisites, or the resources that both ends touch; "" for stages and groups."""
        return ", ".join([*(source for source in self.sources if source in _REQUISITES), *self.resources])


def graph_edges(plan: Plan) -> Iterator[GraphEdge]:
    """Yield every edge once, with all its sources; a requisite among them decides how it is drawn."""
    sources: dict[tuple[int, int], list[str]] = {}
    for edge in plan.dag.edges():
        sources.setdefault((edge.before, edge.after), []).append(edge.source)
    for number, node in enumerate(plan.nodes):
        if node.kind is NodeKind.LISTENER:
            sources.update(((target, number), [RequisiteKind.LISTEN.value]) for target in node.members)
    for (before, after), reasons in sources.items():
        yield GraphEdge(before, after, tuple(reasons), _family(reasons), plan.dag.resources(before, after))


def _family(sources: list[str]) -> str:
    if sources == ["listen"]:
        return "listen"
    if any(source in _REQUISITES for source in sources):
        return "requisite"
    return next((source for source in sources if source in _LINES), "set")


def node_label(plan: Plan, node: Node) -> str:
    """Return the label of a node: the state of a chunk; for other nodes, what they join."""
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


def to_dot(plan: Plan) -> str:
    """Return the plan in Graphviz's language."""
    shapes = {
        NodeKind.CHUNK: "shape=box, style=rounded",
        NodeKind.CHECK: 'shape=box, style="rounded,dashed"',
        NodeKind.SET: "shape=ellipse, fontsize=9",
        NodeKind.STAGE: "shape=underline, fontsize=9",
        NodeKind.GROUP: "shape=component",
        NodeKind.LISTENER: 'shape=box, style="rounded,dotted"',
        NodeKind.REMOTE: "shape=cds",
    }
    lines = ["digraph plan {", "  rankdir=LR;", '  node [fontname="sans-serif", fontsize=11];']
    for number, node in enumerate(plan.nodes):
        lines.append(f'  n{number} [label="{_dot_text(node_label(plan, node))}", {shapes[node.kind]}];')
    for edge in graph_edges(plan):
        line = _LINES[edge.family]
        label = f', label="{_dot_text(edge.label)}", fontsize=8' if edge.label else ""
        lines.append(f'  n{edge.before} -> n{edge.after} [style={line.pattern}, color="{line.colour}"{label}];')
    return "\n".join([*lines, "}", ""])


def _dot_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def to_mermaid(plan: Plan) -> str:
    """Return the plan as a Mermaid flow chart, as GitHub and GitLab show it in Markdown."""
    brackets = {
        NodeKind.CHUNK: ("[", "]"),
        NodeKind.CHECK: ("[/", "/]"),
        NodeKind.SET: ("([", "])"),
        NodeKind.STAGE: ("{{", "}}"),
        NodeKind.GROUP: ("[[", "]]"),
        NodeKind.LISTENER: (">", "]"),
        NodeKind.REMOTE: ("[(", ")]"),
    }
    arrows = {"requisite": "-->", "stage": "==>", "footprint": "-.->", "group": "--o", "set": "---", "listen": "-.->"}
    lines = ["flowchart LR"]
    for number, node in enumerate(plan.nodes):
        left, right = brackets[node.kind]
        lines.append(f'  n{number}{left}"{mermaid_text(node_label(plan, node))}"{right}')
    for edge in graph_edges(plan):
        label = f"|{edge.label}|" if edge.label else ""
        lines.append(f"  n{edge.before} {arrows[edge.family]}{label} n{edge.after}")
    return "\n".join([*lines, ""])


def mermaid_text(text: str) -> str:
    """Return a text as it stands between the quotes of a label."""
    for character, code in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("\n", " ")):
        text = text.replace(character, code)
    return text


def to_json(plan: Plan) -> str:
    """Return ``{nodes: [{id, kind, label, tag, sls, file, line}], edges: […], contingent: […], digest}``.

    A contingent edge is ``{before, after, proof, resources}``: it binds unless the proof succeeds first. An edge is
    ``{before, after, sources, resources}``; the last are the resources that both ends of a footprint touch.
    """
    nodes = [_node_data(plan, number, node) for number, node in enumerate(plan.nodes)]
    edges = [
        {"before": edge.before, "after": edge.after, "sources": edge.sources, "resources": edge.resources}
        for edge in graph_edges(plan)
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


def to_svg(plan: Plan) -> str:
    """Return the plan as a complete SVG picture, without the help of Graphviz."""
    drawing = Drawing(
        labels=[node_label(plan, node) for node in plan.nodes],
        small=[node.chunk < 0 for node in plan.nodes],
        edges=[
            (edge.before, edge.after, _LINES[edge.family].pattern, _LINES[edge.family].colour, _title(edge))
            for edge in graph_edges(plan)
        ],
        legend=[(name, line.pattern, line.colour) for name, line in _LINES.items() if name != "set"],
    )
    return draw(drawing)


def _title(edge: GraphEdge) -> str:
    return ", ".join([*edge.sources, *edge.resources])


FORMATS: dict[str, Callable[[Plan], str]] = {"dot": to_dot, "mermaid": to_mermaid, "json": to_json, "svg": to_svg}
"""The formats of ``show graph --format``."""
