"""The order of the nodes within their layers, chosen so that few edges cross: by the middle of the neighbours."""

from __future__ import annotations

from bisect import bisect_left
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncstate.layout.layers import Layered

_EFFORT = 1_500_000
"""How many nodes and edges are looked at, at most, in all sweeps: some seconds for the largest graphs."""
_SWEEPS = 24
_FRUITLESS = 4
"""After so many sweeps that found no better order, no more is tried."""


def untangle(graph: Layered) -> None:
    """Order ``graph.rows``. Nodes of one band stay together, the bands in their order."""
    work = len(graph.layer) + sum(map(len, graph.after))
    place = _places(graph)
    best, fewest, fruitless = [[*row] for row in graph.rows], crossings(graph), 0
    for sweep in range(min(_SWEEPS, max(2, _EFFORT // max(work, 1)))):
        if not fewest or fruitless == _FRUITLESS:
            break
        down = sweep % 2 == 0
        for row in graph.rows if down else reversed(graph.rows):
            row[:] = _sorted(row, graph.band, graph.before if down else graph.after, place)
            place.update({node: number for number, node in enumerate(row)})
        if work * _SWEEPS < _EFFORT:
            _swap(graph, place)
        now = crossings(graph)
        fruitless += 1
        if now < fewest:
            best, fewest, fruitless = [[*row] for row in graph.rows], now, 0
    graph.rows[:] = best


def _places(graph: Layered) -> dict[int, int]:
    return {node: number for row in graph.rows for number, node in enumerate(row)}


def _sorted(row: list[int], bands: list[int], neighbours: list[list[int]], place: dict[int, int]) -> list[int]:
    """Return a row by the mean place of the neighbours; a node that has none keeps its own place."""
    found: list[int] = []
    for _, group in groupby(row, key=bands.__getitem__):
        nodes = [*group]
        means = {
            node: sum(place[other] for other in neighbours[node]) / len(neighbours[node])
            for node in nodes
            if neighbours[node]
        }
        moving = iter(sorted(means, key=lambda node: (means[node], place[node])))
        found += [next(moving) if node in means else node for node in nodes]
    return found


def _swap(graph: Layered, place: dict[int, int]) -> None:
    """Exchange nodes that stand beside each other as long as that saves crossings."""
    for row in graph.rows:
        for _ in row[:8]:
            better = False
            for number in range(len(row) - 1):
                one, other = row[number], row[number + 1]
                if graph.band[one] == graph.band[other] and _saved(graph, one, other, place) > 0:
                    row[number], row[number + 1] = other, one
                    place[other], place[one] = number, number + 1
                    better = True
            if not better:
                break


def _saved(graph: Layered, one: int, other: int, place: dict[int, int]) -> int:
    """Return how many crossings fewer there are if ``one`` and ``other``, which follows it, are exchanged."""
    saved = 0
    for neighbours in (graph.before, graph.after):
        first = sorted(place[node] for node in neighbours[one])
        second = sorted(place[node] for node in neighbours[other])
        saved += sum(len(first) - bisect_left(first, spot + 1) - bisect_left(first, spot) for spot in second)
    return saved


def crossings(graph: Layered) -> int:
    """Return how often edges cross between one layer and the next."""
    place = _places(graph)
    number = 0
    for row, beyond in zip(graph.rows, graph.rows[1:], strict=False):
        ends = [end for node in row for end in sorted(place[other] for other in graph.after[node])]
        number += _inversions(ends, len(beyond))
    return number


def _inversions(ends: list[int], size: int) -> int:
    """Return how many pairs stand in the wrong order: a Fenwick tree counts those seen so far."""
    tree = [0] * (size + 1)
    found = 0
    for seen, end in enumerate(ends):
        spot, below = end + 1, 0
        while spot:
            below += tree[spot]
            spot &= spot - 1
        found += seen - below
        spot = end + 1
        while spot <= size:
            tree[spot] += 1
            spot += spot & -spot
    return found
