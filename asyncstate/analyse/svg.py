"""A layered drawing of an acyclic graph as SVG: columns by longest path, rows by the places of the neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import msgspec

from asyncstate.report.terminal import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROW = 34
_BOX = 24
_GAP = 70
_MARGIN = 20
_BETWEEN = 16
"""Between two bands."""
_LETTER = 6.4
_LONGEST_LABEL = 44
_SWEEPS = 4
_DASHES = {
    "solid": "",
    "bold": ' stroke-width="2.5"',
    "dashed": ' stroke-dasharray="6 4"',
    "dotted": ' stroke-dasharray="2 3"',
}


class Drawing(msgspec.Struct, frozen=True):
    """A graph to draw. Nodes are numbered; ``small`` marks the minor ones.

    An edge is (before, after, pattern, colour, title), an entry of the legend (name, pattern, colour). ``bands`` has
    the number of the band that each node is drawn in, ``titles`` those of the bands; without, there is one.
    """

    labels: Sequence[str]
    small: Sequence[bool]
    edges: Sequence[tuple[int, int, str, str, str]]
    legend: Sequence[tuple[str, str, str]] = ()
    bands: Sequence[int] = ()
    titles: Sequence[str] = ("",)


class Band(msgspec.Struct, frozen=True):
    """The place of a band in the drawing, and how many boxes stand one below the other in it."""

    title: str
    top: float
    rows: int


class Box(msgspec.Struct, frozen=True):
    """The place of a node in the drawing."""

    left: float
    middle: float
    width: float


def draw(drawing: Drawing) -> str:
    """Return a complete SVG document. The edges must not form a cycle."""
    columns = layers(len(drawing.labels), [edge[:2] for edge in drawing.edges])
    bands = _bands(drawing, columns)
    boxes, width = _place(drawing, columns, bands)
    height = bands[-1].top + bands[-1].rows * _ROW + _MARGIN if bands else 2.0 * _MARGIN
    body = [
        *(_background(band, number, width) for number, band in enumerate(bands) if band.title),
        *(
            _edge(boxes[before], boxes[after], pattern, colour, title)
            for before, after, pattern, colour, title in drawing.edges
        ),
        *(_node(box, label, small) for box, label, small in zip(boxes, drawing.labels, drawing.small, strict=True)),
        *_legend(drawing, height),
    ]
    total = height + 30
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {total:.0f}" width="{width:.0f}" '
        f'height="{total:.0f}" font-family="sans-serif" font-size="11">\n'
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#52606d"/></marker></defs>\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{"".join(body)}</svg>\n'
    )


def layers(size: int, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Put every node one column right of its rightmost predecessor; within a column, near its neighbours."""
    after: list[list[int]] = [[] for _ in range(size)]
    before: list[list[int]] = [[] for _ in range(size)]
    for source, target in edges:
        after[source].append(target)
        before[target].append(source)
    depth = [0] * size
    waiting = [len(nodes) for nodes in before]
    free = [node for node in range(size) if not waiting[node]]
    for node in free:
        for target in after[node]:
            depth[target] = max(depth[target], depth[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                free.append(target)
    columns: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for node in range(size):
        columns[depth[node]].append(node)
    _untangle(columns, before, after, size)
    return columns


def _untangle(columns: list[list[int]], before: list[list[int]], after: list[list[int]], size: int) -> None:
    """Order each column by the mean place of its neighbours, from the left and from the right in turn."""
    place = [0.0] * size
    for column in columns:
        for row, node in enumerate(column):
            place[node] = row
    for sweep in range(_SWEEPS):
        neighbours = before if sweep % 2 == 0 else after
        for column in columns if sweep % 2 == 0 else reversed(columns):
            means = {
                node: sum(place[other] for other in neighbours[node]) / len(neighbours[node])
                if neighbours[node]
                else place[node]
                for node in column
            }
            column.sort(key=lambda node: (means[node], node))
            for row, node in enumerate(column):
                place[node] = row


def _bands(drawing: Drawing, columns: list[list[int]]) -> list[Band]:
    """Return the bands, each as high as its part of the fullest column."""
    of = drawing.bands or [0] * len(drawing.labels)
    rows = [0] * len(drawing.titles)
    for column in columns:
        counts = Counter(of[node] for node in column)
        for band, number in counts.items():
            rows[band] = max(rows[band], number)
    bands = []
    top = float(_MARGIN)
    for title, number in zip(drawing.titles, rows, strict=True):
        bands.append(Band(title, top, number))
        top += number * _ROW + _BETWEEN
    return bands


def _place(drawing: Drawing, columns: list[list[int]], bands: list[Band]) -> tuple[list[Box], float]:
    of = drawing.bands or [0] * len(drawing.labels)
    boxes = [Box(0, 0, 0)] * len(drawing.labels)
    longest = max((len(_short(band.title)) for band in bands), default=0)
    left = _MARGIN + (longest * _LETTER + _GAP / 2 if longest else 0.0)
    for column in columns:
        width = max(len(_short(drawing.labels[node])) for node in column) * _LETTER + 16
        rows: dict[int, list[int]] = {}
        for node in column:
            rows.setdefault(of[node], []).append(node)
        for number, nodes in rows.items():
            top = bands[number].top + (bands[number].rows - len(nodes)) * _ROW / 2
            for row, node in enumerate(nodes):
                boxes[node] = Box(left, top + row * _ROW + _BOX / 2, width)
        left += width + _GAP
    return boxes, max(left - _GAP, 0) + _MARGIN + 200 * (not columns)


def _background(band: Band, number: int, width: float) -> str:
    top, height = band.top - _BETWEEN / 2, band.rows * _ROW + _BETWEEN - (_ROW - _BOX)
    return (
        f'<rect x="0" y="{top:.1f}" width="{width:.0f}" height="{height:.1f}" '
        f'fill="{"#ffffff" if number % 2 else "#f5f7fa"}"/><text x="{_MARGIN}" '
        f'y="{band.top + band.rows * _ROW / 2:.1f}" font-weight="bold">{escape(clean(_short(band.title)))}</text>\n'
    )


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"


def _node(box: Box, label: str, small: bool) -> str:
    title, text = escape(clean(label)), escape(clean(_short(label)))
    stroke = "#cbd2d9" if small else "#3e4c59"
    fill = "#f5f7fa" if small else "#e3f8ff"
    radius = 12 if small else 4
    return (
        f'<g><title>{title}</title><rect x="{box.left:.1f}" y="{box.middle - _BOX / 2:.1f}" width="{box.width:.1f}" '
        f'height="{_BOX}" rx="{radius}" fill="{fill}" stroke="{stroke}"/>'
        f'<text x="{box.left + box.width / 2:.1f}" y="{box.middle + 4:.1f}" text-anchor="middle">{text}</text></g>\n'
    )


def _edge(before: Box, after: Box, pattern: str, colour: str, title: str) -> str:
    start, end = before.left + before.width, after.left
    bend = (start + end) / 2
    return (
        f'<path d="M{start:.1f} {before.middle:.1f}C{bend:.1f} {before.middle:.1f} {bend:.1f} {after.middle:.1f} '
        f'{end:.1f} {after.middle:.1f}" fill="none" stroke="{colour}"{_DASHES[pattern]} marker-end="url(#arrow)">'
        f"<title>{escape(title)}</title></path>\n"
    )


def _legend(drawing: Drawing, height: float) -> Iterator[str]:
    left = float(_MARGIN)
    for name, pattern, colour in drawing.legend:
        yield (
            f'<path d="M{left:.0f} {height + 10:.0f}h30" stroke="{colour}"{_DASHES[pattern]}/>'
            f'<text x="{left + 36:.0f}" y="{height + 14:.0f}" fill="#52606d">{escape(name)}</text>\n'
        )
        left += 50 + len(name) * _LETTER
