"""A graph of states as a picture: dot, mermaid, SVG. The reason for an edge decides how it is drawn."""

from __future__ import annotations

import msgspec

from asyncstate.analyse.svg import Drawing, draw
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind

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
    "across": Line("solid", "#b42318"),
    "listen": Line("dashed", "#805ad5"),
    "set": Line("dotted", "#718096"),
}


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


class Point(msgspec.Struct, frozen=True):
    """A node of a picture; ``host`` is "" if all are of one."""

    label: str
    kind: NodeKind
    host: str = ""


class Picture(msgspec.Struct, frozen=True):
    """A graph to draw; edges name nodes by their numbers. Nodes of one host are drawn together."""

    nodes: tuple[Point, ...]
    edges: tuple[GraphEdge, ...]

    def hosts(self) -> dict[str, list[int]]:
        """Return the numbers of the nodes by host."""
        found: dict[str, list[int]] = {}
        for number, node in enumerate(self.nodes):
            found.setdefault(node.host, []).append(number)
        return found


def family_of(sources: list[str]) -> str:
    """Return the family of an edge within a host, from its sources: a requisite among them decides."""
    if sources == ["listen"]:
        return "listen"
    if any(source in _REQUISITES for source in sources):
        return "requisite"
    return next((source for source in sources if source in _LINES), "set")


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
        line = _LINES[edge.family]
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


_SMALL = frozenset({NodeKind.SET, NodeKind.STAGE, NodeKind.GROUP, NodeKind.LISTENER, NodeKind.REMOTE})


def svg(picture: Picture) -> str:
    """Return the picture as a complete SVG document, without the help of Graphviz: a band for each host."""
    hosts = list(picture.hosts())
    place = {host: number for number, host in enumerate(hosts)}
    drawn = {edge.family for edge in picture.edges} | {name for name in _LINES if name not in _RARE}
    drawing = Drawing(
        labels=[node.label for node in picture.nodes],
        small=[node.kind in _SMALL for node in picture.nodes],
        edges=[
            (edge.before, edge.after, _LINES[edge.family].pattern, _LINES[edge.family].colour, _title(edge))
            for edge in picture.edges
        ],
        legend=[(name, line.pattern, line.colour) for name, line in _LINES.items() if name in drawn and name != "set"],
        bands=[place[node.host] for node in picture.nodes],
        titles=hosts,
    )
    return draw(drawing)


_RARE = frozenset({"across"})
"""Kinds of edges that the legend has only if there are such."""


def _title(edge: GraphEdge) -> str:
    return ", ".join([*edge.sources, *edge.resources])
