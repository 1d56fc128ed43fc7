"""A graph as an SVG document: boxes with whole labels, edges by kind with a legend, for light and dark screens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import msgspec

from asyncstate.layout.graph import Graph, Layout
from asyncstate.layout.part import HEADER
from asyncstate.layout.text import lines, width
from asyncstate.report.terminal import clean, count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from asyncstate.layout.graph import Box, Spot

_FONT = 11.0
_LINE = 14.0
_SIDE = 9.0
"""Between a label and the sides of its box."""
_EDGE = 5.0
"""Between a label and the top and the bottom of its box."""
_LONGEST = 26.0
"""A line of a label, in ems; longer labels have several."""
_MARGIN = 20.0
_NARROWEST = 560.0
"""The least width of a picture: the legend needs it."""
_SAMPLE = 30.0
"""The length of a line in the legend."""
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_PATTERNS = {
    "solid": "",
    "bold": "stroke-width:2.5;",
    "dashed": "stroke-dasharray:6 4;",
    "dotted": "stroke-dasharray:2 3;",
}
_STYLE = """text{fill:#1f2933}.paper{fill:#fff}.band{fill:#f5f7fa}.head,.name{font-weight:bold}.note{fill:#52606d}
rect.chunk,rect.check{fill:#e6f6ff;stroke:#486581}rect.minor{fill:#f5f7fa;stroke:#9aa5b1}
rect.check{stroke-dasharray:4 3}.edge{fill:none;stroke-width:1.3}.edge:hover{stroke-width:4}
"""
_DARK = """text{fill:#e4e7eb}.paper{fill:#14181d}.band{fill:#1b2128}.note{fill:#9aa5b1}
rect.chunk,rect.check{fill:#173042;stroke:#6d9dbd}rect.minor{fill:#232a32;stroke:#616e7c}
"""


class Line(msgspec.Struct, frozen=True):
    """How a kind of edge is drawn, in light and dark; ``pattern`` is solid, dashed, dotted or bold."""

    pattern: str
    colour: str
    dark: str
    words: str
    """What it means, for the legend."""


class Node(msgspec.Struct, frozen=True):
    """A box: its label, what is told of it when the mouse rests on it, and its look (chunk, check or minor)."""

    label: str
    title: str
    look: str
    band: int = 0


class Drawing(msgspec.Struct, frozen=True):
    """A graph to draw.

    An edge is (before, after, kind, title), where ``lines`` has the kind. ``bands`` has the titles of the bands;
    without, there are none. ``notes`` are written below the legend.
    """

    nodes: Sequence[Node]
    edges: Sequence[tuple[int, int, str, str]]
    lines: dict[str, Line]
    bands: Sequence[str] = ()
    notes: Sequence[str] = ()


def draw(drawing: Drawing, layout: Callable[[Graph], Layout]) -> str:
    """Return a complete SVG document. The edges must not form a cycle; ``layout`` finds the places."""
    labels = [lines(_text(node.label), _LONGEST) for node in drawing.nodes]
    sizes = [
        (max(map(width, label)) * _FONT + 2 * _SIDE, (len(label) - 1) * _LINE + _FONT + 2 * _EDGE + 2)
        for label in labels
    ]
    edges = [(before, after, kind) for before, after, kind, _ in drawing.edges]
    found = layout(Graph(sizes, edges, [node.band for node in drawing.nodes] if drawing.bands else ()))
    wide = max(found.width, _NARROWEST)
    shown = [kind for kind in drawing.lines if any(edge[2] == kind for edge in drawing.edges)]
    left_out = sum(not route for route in found.routes)
    notes = [*drawing.notes, *([_undrawn(left_out)] if left_out else [])]
    head, top = _head([(kind, drawing.lines[kind].words) for kind in shown], notes, wide)
    return "".join(
        (
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_number(wide + 2 * _MARGIN)} '
                f'{_number(top + found.height + _MARGIN)}" width="{_number(wide + 2 * _MARGIN)}" '
                f'height="{_number(top + found.height + _MARGIN)}" '
                f'font-family="\'DejaVu Sans\',Verdana,sans-serif" font-size="{_FONT:g}">\n'
            ),
            *_style({kind: drawing.lines[kind] for kind in shown}),
            '<rect class="paper" width="100%" height="100%"/>\n',
            *head,
            f'<g transform="translate({_number(_MARGIN)} {_number(top)})">\n',
            *_bands(drawing.bands, found, wide),
            *_edges(drawing.edges, found.routes),
            *(_node(node, label, box) for node, label, box in zip(drawing.nodes, labels, found.boxes, strict=True)),
            "</g>\n</svg>\n",
        )
    )


def _undrawn(number: int) -> str:
    return f"Not drawn, for {'its' if number == 1 else 'their'} length: {count(number, 'edge')}."


def _style(shown: dict[str, Line]) -> Iterator[str]:
    """Yield the colours, and an arrowhead for each kind of edge."""
    yield f"<style>\n{_STYLE}"
    yield from (f".{kind}{{{_PATTERNS[line.pattern]}stroke:{line.colour}}}" for kind, line in shown.items())
    yield from (f".tip.{kind}{{fill:{line.colour};stroke:none}}" for kind, line in shown.items())
    yield f"\n@media (prefers-color-scheme:dark){{\n{_DARK}"
    yield from (f".{kind}{{stroke:{line.dark}}}.tip.{kind}{{fill:{line.dark}}}" for kind, line in shown.items())
    yield "\n}\n</style>\n<defs>"
    for kind in shown:
        yield (
            f'<marker id="{kind}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
            f'markerUnits="userSpaceOnUse" orient="auto"><path class="tip {kind}" d="M0 1L8 4L0 7z"/></marker>'
        )
    yield "</defs>\n"


def _head(legend: Sequence[tuple[str, str]], notes: Sequence[str], wide: float) -> tuple[list[str], float]:
    """Return the legend and the notes, in as many lines as they need, and where the graph begins below them."""
    found = []
    left, top = _MARGIN, _MARGIN + 4
    for kind, words in legend:
        if left > _MARGIN and left + _SAMPLE + 6 + width(words) * _FONT > wide + _MARGIN:
            left, top = _MARGIN, top + _LINE + 4
        found.append(
            f'<path class="edge {kind}" d="M{_number(left)} {_number(top - 4)}h{_SAMPLE:g}" marker-end="url(#{kind})"/>'
            f'<text x="{_number(left + _SAMPLE + 6)}" y="{_number(top)}">{_xml(words)}</text>\n'
        )
        left += _SAMPLE + 6 + width(words) * _FONT + 20
    top += 8 if legend else -_LINE
    for note in notes:
        for line in lines(note, wide / _FONT):
            top += _LINE
            found.append(f'<text class="note" x="{_number(_MARGIN)}" y="{_number(top)}">{_xml(line)}</text>\n')
    return found, top + _MARGIN


def _bands(titles: Sequence[str], layout: Layout, wide: float) -> Iterator[str]:
    for number, (title, (top, height)) in enumerate(zip(titles, layout.bands, strict=False)):
        look = "paper" if number % 2 else "band"
        line = _number(top + HEADER - 10)
        yield (
            f'<rect class="{look}" x="{_number(-_MARGIN)}" y="{_number(top)}" width="{_number(wide + 2 * _MARGIN)}" '
            f'height="{_number(height)}"/><text class="head" x="0" y="{line}">{_xml(title)}</text>\n'
        )


def _edges(edges: Sequence[tuple[int, int, str, str]], routes: Iterable[Sequence[Spot]]) -> Iterator[str]:
    """Yield the edges. Where several of one kind run together, the line is drawn once."""
    seen: set[tuple[str, Spot, Spot]] = set()
    for (_, _, kind, title), route in zip(edges, routes, strict=True):
        begin = 0
        while begin + 6 < len(route) and (kind, route[begin], route[begin + 3]) in seen:
            begin += 3
        seen.update((kind, route[place], route[place + 3]) for place in range(begin, len(route) - 1, 3))
        if route:
            yield (
                f'<path class="edge {kind}" marker-end="url(#{kind})" d="{_path(route[begin:])}">'
                f"<title>{_xml(title)}</title></path>\n"
            )


def _path(route: Sequence[Spot]) -> str:
    """Return the commands of a path. Straight pieces that follow each other are one."""
    commands = [f"M{_spot(route[0])}"]
    for place in range(0, len(route) - 1, 3):
        piece = route[place : place + 4]
        across = {y for _, y in piece}
        along = {x for x, _ in piece}
        if len(across) > 1 and len(along) > 1:
            commands.append(f"C{' '.join(map(_spot, piece[1:]))}")
            continue
        command = f"H{_number(piece[3][0])}" if len(across) == 1 else f"V{_number(piece[3][1])}"
        if commands[-1][0] == command[0]:
            commands.pop()
        commands.append(command)
    return "".join(commands)


def _node(node: Node, label: Sequence[str], box: Box) -> str:
    middle = _number(box.left + box.width / 2)
    first = box.top + _EDGE + _FONT - 1
    text = "".join(
        f'<tspan x="{middle}" y="{_number(first + number * _LINE)}">{_xml(line)}</tspan>'
        for number, line in enumerate(label)
    )
    radius = 4 if node.look == "chunk" else 10
    return (
        f'<g><title>{_xml(node.title)}</title><rect class="{node.look}" x="{_number(box.left)}" '
        f'y="{_number(box.top)}" width="{_number(box.width)}" height="{_number(box.height)}" rx="{radius}"/>'
        f'<text text-anchor="middle">{text}</text></g>\n'
    )


def _spot(spot: Spot) -> str:
    return f"{_number(spot[0])} {_number(spot[1])}"


def _number(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _xml(text: str) -> str:
    return escape(_text(text))


def _text(text: str) -> str:
    """Return a text without what a terminal or XML does not take."""
    return _NOT_XML.sub(lambda match: f"\\u{ord(match[0]):04x}", clean(text))
