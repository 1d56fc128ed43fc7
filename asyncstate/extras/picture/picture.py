"""Drawings of a graph of states: dot, mermaid, a page. The reason for an edge determines its style."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from asyncstate.extras.picture.html import Page
from asyncstate.extras.picture.page_data import PageState
from asyncstate.extras.picture.reduction import transitive_reduction
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind
from asyncstate.report.edges import REQUISITES, family_of

if TYPE_CHECKING:
    from collections.abc import Iterable


class Line(NamedTuple):
    """The pattern and the colour of an edge, as Graphviz names them."""

    pattern: str
    colour: str


_LINES = {
    "watch": Line("solid", "#2563eb"),
    "onchanges": Line("solid", "#0b8457"),
    "prereq": Line("dashed", "#8b3fd9"),
    "onfail": Line("dashed", "#d9480f"),
    "require": Line("solid", "#52606d"),
    "across": Line("solid", "#b42318"),
    "listen": Line("dotted", "#2563eb"),
    "stage": Line("bold", "#9aa5b1"),
    "file": Line("bold", "#9aa5b1"),
    "footprint": Line("dashed", "#a0761c"),
    "group": Line("dotted", "#c05621"),
    "set": Line("dotted", "#718096"),
}
"""The style of each kind of edge. Of several kinds of requisites, the first counts."""

_PLAIN = frozenset({RequisiteKind.REQUIRE.value, RequisiteKind.PREREQUIRED.value, "set"})
"""Reasons that mean only that a state comes first and must not fail."""
_REACTING = REQUISITES - _PLAIN
_REQUIRING = _PLAIN | {RequisiteKind.WATCH.value, RequisiteKind.ONCHANGES.value}
"""Reasons by which a state fails if the one before it has failed."""


class GraphEdge(msgspec.Struct, frozen=True):
    """An edge with all its reasons. ``across``: it leads from one host to another.

    For a footprint, ``resources`` are the resources that both ends touch.
    """

    before: int
    after: int
    sources: tuple[str, ...]
    resources: tuple[str, ...] = ()
    across: bool = False

    @property
    def family(self) -> str:
        """The reason that counts: across, listen, requisite, stage, file, footprint, group, or set (all of)."""
        return "across" if self.across else family_of(self.sources)

    @property
    def label(self) -> str:
        """The text beside the edge: the requisites, or the resources that both ends touch; "" for stages and groups."""
        return ", ".join([*(source for source in self.sources if source in REQUISITES), *self.resources])

    @property
    def kind(self) -> str:
        """The style of the edge: its family, or for a requisite its kind."""
        if self.family != "requisite":
            return self.family
        kinds = {_KINDS.get(source, source) for source in self.sources}
        return next(kind for kind in _LINES if kind in kinds)


_KINDS = {kind.value: "prereq" if kind is RequisiteKind.PREREQUIRED else kind.family.value for kind in RequisiteKind}


class Point(msgspec.Struct, frozen=True):
    """A node of a picture; ``host`` is "" if all are of one. ``place`` is the ``file:line`` of a state."""

    label: str
    kind: NodeKind
    host: str = ""
    place: str = ""


class Picture(msgspec.Struct):
    """A graph to draw; edges name nodes by their numbers. Nodes of one host are drawn together."""

    nodes: list[Point] = []
    edges: list[GraphEdge] = []

    def add(self, label: str, kind: NodeKind, host: str = "", place: str = "") -> int:
        """Add a node, and return its number."""
        self.nodes.append(Point(label, kind, host, place))
        return len(self.nodes) - 1

    def join(
        self,
        before: int,
        after: int,
        sources: tuple[str, ...],
        resources: tuple[str, ...] = (),
        *,
        across: bool = False,
    ) -> None:
        """Add an edge."""
        self.edges.append(GraphEdge(before, after, sources, resources, across))

    def hosts(self) -> dict[str, list[int]]:
        """Return the numbers of the nodes by host."""
        found: dict[str, list[int]] = {}
        for number, node in enumerate(self.nodes):
            found.setdefault(node.host, []).append(number)
        return found

    def reduced(self) -> Picture:
        """Return the picture without edges implied by others: the order is the same.

        A requirement is implied by requirements only, not by an order. Reactive edges (watch, onchanges, onfail,
        prereq, listen, any kind with _any or _all) always stay.
        """
        size = len(self.nodes)
        required = {*transitive_reduction(size, _pairs(edge for edge in self.edges if _REQUIRING & {*edge.sources}))}
        ordered = {*transitive_reduction(size, _pairs(self.edges))}
        edges = [
            edge
            for edge in self.edges
            if _REACTING & {*edge.sources}
            or (edge.before, edge.after) in (required if _PLAIN & {*edge.sources} else ordered)
        ]
        return msgspec.structs.replace(self, edges=edges)


READABLE = 300
"""Number of nodes above which a picture is unreadable."""
_STEPS = 2


def around(picture: Picture, nodes: Iterable[int]) -> Picture:
    """Return the part of a picture that is at most two steps from some nodes, in either direction.

    Edges implied by others do not count as steps: with them, everything would be near.
    """
    neighbours: dict[int, list[int]] = {}
    for edge in picture.reduced().edges:
        neighbours.setdefault(edge.before, []).append(edge.after)
        neighbours.setdefault(edge.after, []).append(edge.before)
    near = {*nodes}
    for _ in range(_STEPS):
        near |= {other for node in near for other in neighbours.get(node, ())}
    number = {node: place for place, node in enumerate(sorted(near))}
    edges = [
        msgspec.structs.replace(edge, before=number[edge.before], after=number[edge.after])
        for edge in picture.edges
        if edge.before in number and edge.after in number
    ]
    return Picture([picture.nodes[node] for node in number], edges)


def _pairs(edges: Iterable[GraphEdge]) -> list[tuple[int, int]]:
    return [(edge.before, edge.after) for edge in edges]


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
        "file": "==>",
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
    """Return a text escaped for the quotes of a label."""
    for character, code in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("\n", " ")):
        text = text.replace(character, code)
    return text


def html(picture: Picture, title: str) -> str:
    """Return a page that shows the picture, lays it out in the browser, and lists and searches its states."""
    hosts = list(picture.hosts())
    number_of = {host: number for number, host in enumerate(hosts)}
    data = Page(hosts=hosts if any(hosts) else [])
    states: list[int] = []
    joints: list[int] = []
    for number, node in enumerate(picture.nodes):
        if node.kind is NodeKind.CHUNK:
            states.append(number)
            function, _, id_ = node.label.partition(": ")
            data.states.append(
                PageState(function=function, id=id_, kind="planned", place=node.place, host=number_of[node.host])
            )
        else:
            joints.append(number)
            data.joints.append(node.label)
    node_of = {number: place for place, number in enumerate([*states, *joints])}
    data.join(
        (node_of[edge.before], node_of[edge.after], edge.sources, edge.resources, edge.across) for edge in picture.edges
    )
    return data.html(title, ok=None, facts=[("Hosts", ", ".join(data.hosts))])
