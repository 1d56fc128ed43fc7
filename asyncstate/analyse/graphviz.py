"""Places found by Graphviz, where it is installed. It gets sizes and numbers only; labels and colours are ours."""

from __future__ import annotations

import re
import shutil
import time
from typing import TYPE_CHECKING

import msgspec

from asyncstate.errors import AsyncStateError, CommandExecutionError
from asyncstate.layout.graph import Box, Graph, Layout
from asyncstate.layout.part import CLOSEST
from asyncstate.layout.places import BETWEEN_BOXES
from asyncstate.layout.whole import layout
from asyncstate.process.child import run_child

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from asyncstate.layout.graph import Spot

_PATIENCE = 10.0
"""Seconds for all parts of a graph together."""
_MOST = 2000
_INCH = 72.0
"""Graphviz measures boxes in inches, and places in points."""
_POINT = re.compile(r"(-?[\d.]+(?:e[-+]?\d+)?),(-?[\d.]+(?:e[-+]?\d+)?)")


class GraphvizFailed(AsyncStateError):
    """Graphviz is not there, took too long, or gave no layout."""


class _Node(msgspec.Struct, frozen=True):
    """What Graphviz answers of a node: its middle."""

    name: str
    pos: str


class _Edge(msgspec.Struct, frozen=True):
    """What Graphviz answers of an edge: our number, and its control points."""

    number: str = msgspec.field(name="id")
    pos: str = ""


class _Answer(msgspec.Struct, frozen=True):
    """What Graphviz answers; ``bb`` is the rectangle around all."""

    bb: str
    objects: list[_Node] = []
    edges: list[_Edge] = []


def graphviz_layout(graph: Graph) -> Layout:
    """Return the places of all nodes and edges, by Graphviz. Bands are laid out by `asyncstate.layout`.

    Raises GraphvizFailed if there is no program ``dot``, if it fails, or if it takes longer than ten seconds.
    """
    program = shutil.which("dot")
    if program is None:
        raise GraphvizFailed(
            "Graphviz is not installed: there is no program dot in PATH. Without --layout, asyncstate draws itself"
        )
    return layout(graph, _with(program, time.monotonic() + _PATIENCE))


def graphviz_or_own_layout(graph: Graph) -> Layout:
    """Return the places of all nodes and edges: by Graphviz if that is there and works, else by `asyncstate.layout`.

    A graph of more than 2000 nodes takes Graphviz too long: it is not asked.
    """
    if len(graph.sizes) > _MOST:
        return layout(graph)
    try:
        return graphviz_layout(graph)
    except GraphvizFailed:
        return layout(graph)


def _with(program: str, deadline: float) -> Callable[[Graph, int, bool], Layout]:
    def part(graph: Graph, _: int, goes_right: bool) -> Layout:
        left = deadline - time.monotonic()
        if left <= 0:
            raise GraphvizFailed(f"Graphviz needs more than {_PATIENCE:g} seconds for this graph")
        return _read(graph, _asked(program, _question(graph, goes_right=goes_right), left))

    return part


def _question(graph: Graph, *, goes_right: bool) -> str:
    """Return a graph without labels, in Graphviz's language."""
    return "\n".join(
        [
            f"digraph {{ rankdir={'LR' if goes_right else 'TB'}; nodesep={BETWEEN_BOXES / _INCH:.4f};",
            f'ranksep={CLOSEST / _INCH:.4f}; node [shape=box, fixedsize=true, label=""]; edge [arrowhead=none];',
            *(
                f"{number} [width={wide / _INCH:.4f}, height={high / _INCH:.4f}];"
                for number, (wide, high) in enumerate(graph.sizes)
            ),
            *(f"{first} -> {last} [id={number}];" for number, (first, last, _) in enumerate(graph.edges)),
            "}",
        ]
    )


def _asked(program: str, question: str, seconds: float) -> bytes:
    try:
        done = run_child([program, "-Tjson0"], stdin=question.encode(), timeout=seconds)
    except (OSError, CommandExecutionError) as error:
        raise GraphvizFailed(f"Graphviz does not work: {error}") from error
    if done.timed_out:
        raise GraphvizFailed(f"Graphviz needs more than {_PATIENCE:g} seconds for this graph")
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise GraphvizFailed(f"Graphviz failed with exit code {done.returncode}: {said}")
    return done.stdout


def _read(graph: Graph, text: bytes) -> Layout:
    """Return the layout that Graphviz answered; there, the y axis points up."""
    try:
        answer = msgspec.json.decode(text, type=_Answer)
        (_, _), (width, height) = _spots(answer.bb, 0.0)
        middles = {int(node.name): _spots(node.pos, -height)[0] for node in answer.objects}
        boxes = [
            Box(middles[number][0] - wide / 2, middles[number][1] - high / 2, wide, high)
            for number, (wide, high) in enumerate(graph.sizes)
        ]
        found = {int(edge.number): _spots(edge.pos, -height) for edge in answer.edges}
        routes = [found[number] for number in range(len(graph.edges))]
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, KeyError, IndexError) as error:
        raise GraphvizFailed(f"Graphviz answered what is no layout: {error}") from error
    if any(len(route) % 3 != 1 for route in routes):
        raise GraphvizFailed("Graphviz answered what is no layout: an edge that is no curve")
    return Layout(boxes, routes, width, height)


def _spots(text: str, height: float) -> Sequence[Spot]:
    """Return the places of an answer, ``x,y x,y …``; a negative ``height`` turns the y axis."""
    pairs = [(float(x), float(y)) for x, y in _POINT.findall(text)]
    return [(x, -height - y) if height < 0 else (x, y) for x, y in pairs]


LAYOUTS: dict[str, Callable[[Graph], Layout]] = {
    "auto": graphviz_or_own_layout,
    "builtin": layout,
    "graphviz": graphviz_layout,
}
"""Who finds the places, by the words of ``show graph --layout``."""
