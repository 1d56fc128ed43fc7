"""A graph of states as a picture: dot, mermaid, SVG. The reason for an edge decides how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from asyncstate.analyse.svg import Drawing, Line, Node, draw
from asyncstate.layout.graph import Graph, Layout
from asyncstate.layout.whole import layout
from asyncstate.model.plan import NodeKind
from asyncstate.model.reduction import transitive_reduction
from asyncstate.model.requisite import RequisiteKind
from asyncstate.report.terminal import count

if TYPE_CHECKING:
    from collections.abc import Iterable

_REQUISITES = frozenset(kind.value for kind in RequisiteKind)

_LINES = {
    "watch": Line("solid", "#2563eb", "#7aa2f7", "watch"),
    "onchanges": Line("solid", "#0b8457", "#5fd4a6", "onchanges"),
    "prereq": Line("dashed", "#8b3fd9", "#c39bff", "prereq"),
    "onfail": Line("dashed", "#d9480f", "#ff9466", "onfail"),
    "require": Line("solid", "#52606d", "#9fb3c8", "require"),
    "across": Line("solid", "#b42318", "#ff7a6b", "from host to host"),
    "listen": Line("dotted", "#2563eb", "#7aa2f7", "listen"),
    "stage": Line("bold", "#9aa5b1", "#616e7c", "explicit order"),
    "footprint": Line("dashed", "#a0761c", "#d9b04f", "touches the same"),
    "group": Line("dotted", "#c05621", "#e8985e", "shares a call"),
    "set": Line("dotted", "#718096", "#8b99a8", "is one of several"),
}
"""What the kind of an edge looks like. Of several kinds of requisites, the first counts."""

_PLAIN = frozenset({RequisiteKind.REQUIRE.value, RequisiteKind.PREREQUIRED.value, "set"})
"""Reasons that say no more than that a state comes first and must not fail."""
_REACTING = _REQUISITES - _PLAIN
_REQUIRING = _PLAIN | {RequisiteKind.WATCH.value, RequisiteKind.ONCHANGES.value}
"""Reasons for which a state fails if the one before it has failed."""


class GraphEdge(msgspec.Struct, frozen=True):
    """An edge with all its reasons.

    ``family`` is requisite, stage, footprint, group, listen, set (all of), or across (from one host to another).

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

    @property
    def kind(self) -> str:
        """How it is drawn: the family, and of a requisite its own kind."""
        if self.family != "requisite":
            return self.family
        kinds = {_KINDS.get(source, source) for source in self.sources}
        return next(kind for kind in _LINES if kind in kinds)


_KINDS = {kind.value: "prereq" if kind is RequisiteKind.PREREQUIRED else kind.family.value for kind in RequisiteKind}


class Point(msgspec.Struct, frozen=True):
    """A node of a picture; ``host`` is "" if all are of one. ``details`` are what else is told of a state."""

    label: str
    kind: NodeKind
    host: str = ""
    details: str = ""


class Picture(msgspec.Struct, frozen=True):
    """A graph to draw; edges name nodes by their numbers. Nodes of one host are drawn together.

    ``implied`` is how many edges it does not have because they follow from the others.
    """

    nodes: tuple[Point, ...]
    edges: tuple[GraphEdge, ...]
    implied: int = 0

    def hosts(self) -> dict[str, list[int]]:
        """Return the numbers of the nodes by host."""
        found: dict[str, list[int]] = {}
        for number, node in enumerate(self.nodes):
            found.setdefault(node.host, []).append(number)
        return found


def reduced(picture: Picture) -> Picture:
    """Return the picture without edges that follow from others: what comes before what is the same.

    A requirement follows from requirements only, not from an order. What reacts (watch, onchanges, onfail, prereq,
    listen, any kind with _any or _all) always stays.
    """
    size = len(picture.nodes)
    required = {*transitive_reduction(size, _pairs(edge for edge in picture.edges if _REQUIRING & {*edge.sources}))}
    ordered = {*transitive_reduction(size, _pairs(picture.edges))}
    edges = tuple(
        edge
        for edge in picture.edges
        if _REACTING & {*edge.sources}
        or (edge.before, edge.after) in (required if _PLAIN & {*edge.sources} else ordered)
    )
    return msgspec.structs.replace(picture, edges=edges, implied=picture.implied + len(picture.edges) - len(edges))


READABLE = 300
"""A picture of more nodes than that cannot be read."""
_STEPS = 2


def around(picture: Picture, nodes: Iterable[int]) -> Picture:
    """Return the part of a picture that is at most two steps from some nodes, in the one direction or the other.

    Edges that follow from others are no steps, for else all is near.
    """
    neighbours: dict[int, list[int]] = {}
    for edge in reduced(picture).edges:
        neighbours.setdefault(edge.before, []).append(edge.after)
        neighbours.setdefault(edge.after, []).append(edge.before)
    near = {*nodes}
    for _ in range(_STEPS):
        near |= {other for node in near for other in neighbours.get(node, ())}
    number = {node: place for place, node in enumerate(sorted(near))}
    edges = tuple(
        msgspec.structs.replace(edge, before=number[edge.before], after=number[edge.after])
        for edge in picture.edges
        if edge.before in number and edge.after in number
    )
    return Picture(tuple(picture.nodes[node] for node in number), edges)


def _pairs(edges: Iterable[GraphEdge]) -> list[tuple[int, int]]:
    return [(edge.before, edge.after) for edge in edges]


_ORDERS = ("stage", "footprint", "group", "set")


def family_of(sources: list[str]) -> str:
    """Return the family of an edge within a host, from its sources: a requisite among them decides."""
    if sources == ["listen"]:
        return "listen"
    if any(source in _REQUISITES for source in sources):
        return "requisite"
    return next((source for source in sources if source in _ORDERS), "set")


def dot(picture: Picture) -> str:
    """Return the picture in Graphviz's language."""
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
    for place, (host, numbers) in enumerate(picture.hosts().items()):
        if host:
            lines.append(
                f'  subgraph cluster_{place} {{ label="{_dot_text(host)}"; fontname="sans-serif"; style=rounded;'
            )
        for number in numbers:
            node = picture.nodes[number]
            lines.append(f'  n{number} [label="{_dot_text(node.label)}", {shapes[node.kind]}];')
        if host:
            lines.append("  }")
    for edge in picture.edges:
        line = _LINES[edge.kind]
        label = f', label="{_dot_text(edge.label)}", fontsize=8' if edge.label else ""
        lines.append(f'  n{edge.before} -> n{edge.after} [style={line.pattern}, color="{line.colour}"{label}];')
    return "\n".join([*lines, "}", ""])


def _dot_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def mermaid(picture: Picture) -> str:
    """Return the picture as a Mermaid flow chart, as GitHub and GitLab show it in Markdown."""
    brackets = {
        NodeKind.CHUNK: ("[", "]"),
        NodeKind.CHECK: ("[/", "/]"),
        NodeKind.SET: ("([", "])"),
        NodeKind.STAGE: ("{{", "}}"),
        NodeKind.GROUP: ("[[", "]]"),
        NodeKind.LISTENER: (">", "]"),
        NodeKind.REMOTE: ("[(", ")]"),
    }
    arrows = {
        "requisite": "-->",
        "stage": "==>",
        "footprint": "-.->",
        "group": "--o",
        "set": "---",
        "across": "==>",
        "listen": "-.->",
    }
    lines = ["flowchart LR"]
    for place, (host, numbers) in enumerate(picture.hosts().items()):
        if host:
            lines.append(f'  subgraph h{place}["{mermaid_text(host)}"]')
        for number in numbers:
            node = picture.nodes[number]
            left, right = brackets[node.kind]
            lines.append(f'  n{number}{left}"{mermaid_text(node.label)}"{right}')
        if host:
            lines.append("  end")
    for edge in picture.edges:
        label = f"|{edge.label}|" if edge.label else ""
        lines.append(f"  n{edge.before} {arrows[edge.family]}{label} n{edge.after}")
    return "\n".join([*lines, ""])


def mermaid_text(text: str) -> str:
    """Return a text as it stands between the quotes of a label."""
    for character, code in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("\n", " ")):
        text = text.replace(character, code)
    return text


class Manner(msgspec.Struct, frozen=True):
    """How a graph is shown: as dot, mermaid, svg or json, with ``every_edge`` or without those that follow from others.

    ``place`` finds the places in an SVG.
    """

    form: str
    every_edge: bool = False
    place: Callable[[Graph], Layout] = layout


def drawn(picture: Picture, manner: Manner) -> str:
    """Return the picture as dot, mermaid or svg."""
    chosen = picture if manner.every_edge else reduced(picture)
    match manner.form:
        case "dot":
            return dot(chosen)
        case "mermaid":
            return mermaid(chosen)
        case _:
            return svg(chosen, manner.place)


_LOOKS = {NodeKind.CHUNK: "chunk", NodeKind.CHECK: "check"}


def svg(picture: Picture, place: Callable[[Graph], Layout] = layout) -> str:
    """Return the picture as a complete SVG document: a band for each host, if there are several."""
    hosts = list(picture.hosts())
    band = {host: number for number, host in enumerate(hosts)}
    named = any(hosts)
    drawing = Drawing(
        nodes=[
            Node(
                node.label,
                "\n".join(filter(None, (node.label, node.details))),
                _LOOKS.get(node.kind, "minor"),
                band[node.host],
            )
            for node in picture.nodes
        ],
        edges=[(edge.before, edge.after, edge.kind, _title(picture, edge)) for edge in picture.edges],
        lines=_LINES,
        bands=hosts if named else (),
        notes=_notes(picture),
    )
    return draw(drawing, place)


def _title(picture: Picture, edge: GraphEdge) -> str:
    """Return what is told of an edge: its ends and its reasons."""
    ends = f"{picture.nodes[edge.before].label} → {picture.nodes[edge.after].label}"
    return f"{ends}\n{', '.join([*edge.sources, *edge.resources])}"


def _notes(picture: Picture) -> list[str]:
    if not picture.implied:
        return []
    follow = "follows" if picture.implied == 1 else "follow"
    return [f"{count(picture.implied, 'more edge')} {follow} from these; --edges all draws all."]
