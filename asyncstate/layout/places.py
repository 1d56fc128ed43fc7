"""Places across the layers, by Brandes and Köpf: aligned with the neighbours, and bends of an edge in one line.

Four times each node is put in line with a middle neighbour, before it or after it, from the one side or the other, and
what stands in line is packed as one block. The place is the mean of the middle two. As no two nodes overlap in any of
the four, none do in the mean.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asyncstate.layout.layers import Layered

BETWEEN_BOXES = 12.0
_BETWEEN_LINES = 7.0
"""Also between a line and a box."""


def places(graph: Layered, extents: Sequence[float], band: int) -> dict[int, float]:
    """Return the middle of each node of a band; the least begins at 0. ``extents`` are the sizes across the layers."""
    rows = [[node for node in row if graph.band[node] == band] for row in graph.rows]
    before, after = _straight(graph, graph.before, band), _straight(graph, graph.after, band)
    forbidden = _crossing_lines(graph, rows, before)
    found = []
    for upwards in (False, True):
        for mirrored in (False, True):
            turned = [row[::-1] if mirrored else row for row in (reversed(rows) if upwards else rows)]
            root = _blocks(turned, after if upwards else before, forbidden)
            place = _packed(graph, turned, root, extents)
            found.append({node: -spot for node, spot in place.items()} if mirrored else place)
    _shift_together(found, extents)
    middle = {node: sum(sorted(each[node] for each in found)[1:3]) / 2 for node in found[0]}
    least = min((spot - extents[node] / 2 for node, spot in middle.items()), default=0.0)
    return {node: spot - least for node, spot in middle.items()}


def _straight(graph: Layered, neighbours: list[list[int]], band: int) -> list[list[int]]:
    """Return the neighbours to stand in line with: of a bend the next bend of the same edge, if there is one."""
    return [
        [other for other in others if node >= graph.size and graph.is_bend(other)]
        or [other for other in others if graph.band[other] == band]
        for node, others in enumerate(neighbours)
    ]


def _crossing_lines(graph: Layered, rows: list[list[int]], before: list[list[int]]) -> set[tuple[int, int]]:
    """Return the pairs (before, after) that cross a piece between two bends: the piece shall be straight, not they."""
    found: set[tuple[int, int]] = set()
    for above, row in itertools.pairwise(rows):
        place = {node: number for number, node in enumerate(above)}
        left, waiting = 0, 0
        for number, node in enumerate(row):
            inner = before[node][0] if graph.is_bend(node) and before[node] and graph.is_bend(before[node][0]) else -1
            if inner < 0 and number < len(row) - 1:
                continue
            right = place[inner] if inner >= 0 else len(above)
            for each in row[waiting : number + 1]:
                found.update(
                    (other, each)
                    for other in before[each]
                    if not left <= place[other] <= right and not (graph.is_bend(each) and graph.is_bend(other))
                )
            left, waiting = right, number + 1
    return found


def _blocks(rows: list[list[int]], neighbours: list[list[int]], forbidden: set[tuple[int, int]]) -> dict[int, int]:
    """Return for each node the first of those that it stands in line with."""
    root = {node: node for row in rows for node in row}
    place = {node: number for row in rows for number, node in enumerate(row)}
    for row in rows:
        last = -1
        taken: set[int] = set()
        for node in row:
            others = sorted(neighbours[node], key=place.__getitem__)
            for other in dict.fromkeys((others[(len(others) - 1) // 2], others[len(others) // 2]) if others else ()):
                pair_is_forbidden = (other, node) in forbidden or (node, other) in forbidden
                if last < place[other] and other not in taken and not pair_is_forbidden:
                    root[node] = root[other]
                    taken.add(other)
                    last = place[other]
                    break
    return root


def _packed(graph: Layered, rows: list[list[int]], root: dict[int, int], extents: Sequence[float]) -> dict[int, float]:
    """Return a place for each node, as far to the left as the blocks allow, then as near to the next as they allow."""
    beyond: dict[int, dict[int, float]] = {block: {} for block in root.values()}
    waiting = dict.fromkeys(beyond, 0)
    for row in rows:
        for one, other in itertools.pairwise(row):
            lines = graph.is_bend(one) or graph.is_bend(other)
            apart = (extents[one] + extents[other]) / 2 + (_BETWEEN_LINES if lines else BETWEEN_BOXES)
            followers = beyond[root[one]]
            if root[other] not in followers:
                waiting[root[other]] += 1
            followers[root[other]] = max(followers.get(root[other], 0.0), apart)
    spot = dict.fromkeys(beyond, 0.0)
    order = [block for block, number in waiting.items() if not number]
    for block in order:
        for other, apart in beyond[block].items():
            spot[other] = max(spot[other], spot[block] + apart)
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    for block in reversed(order):
        if beyond[block]:
            spot[block] = min(spot[other] - apart for other, apart in beyond[block].items())
    return {node: spot[block] for node, block in root.items()}


def _shift_together(found: list[dict[int, float]], extents: Sequence[float]) -> None:
    """Shift the four so that they share the side from which they were packed with the narrowest of them."""
    if not found[0]:
        return
    sides = [
        (
            min(spot - extents[node] / 2 for node, spot in each.items()),
            max(spot + extents[node] / 2 for node, spot in each.items()),
        )
        for each in found
    ]
    left, right = min(sides, key=lambda side: side[1] - side[0])
    for number, each in enumerate(found):
        shift = right - sides[number][1] if number % 2 else left - sides[number][0]
        for node in each:
            each[node] += shift
