"""Rectangles side by side on a surface of the shape of a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asyncstate.layout.graph import Spot

_SCREEN = 1.6
"""Width over height."""


def packed(sizes: Sequence[tuple[float, float]]) -> tuple[list[Spot], float, float]:
    """Return the left upper corner of each rectangle, and the width and height of all. The largest stand at the top.

    Each is put where its top is highest: on a skyline of those before it.
    """
    area = sum(wide * high for wide, high in sizes)
    across = max((area * _SCREEN * 1.15) ** 0.5, max((wide for wide, _ in sizes), default=0.0))
    spots: list[Spot] = [(0.0, 0.0)] * len(sizes)
    skyline = [(0.0, 0.0)]
    """Where a step begins, and how far down it is filled."""
    for number in sorted(range(len(sizes)), key=lambda number: (-sizes[number][1], number)):
        wide, high = sizes[number]
        left, top = min(
            ((left, _filled(skyline, left, wide)) for left, _ in skyline if left + wide <= across + 0.01),
            key=lambda spot: (spot[1], spot[0]),
        )
        spots[number] = (left, top)
        skyline = _raised(skyline, left, left + wide, top + high)
    width = max((left + wide for (left, _), (wide, _) in zip(spots, sizes, strict=True)), default=0.0)
    height = max((top + high for (_, top), (_, high) in zip(spots, sizes, strict=True)), default=0.0)
    return spots, width, height


def _filled(skyline: list[tuple[float, float]], left: float, wide: float) -> float:
    """Return how far down anything reaches between ``left`` and ``left + wide``."""
    ends = [begin for begin, _ in skyline[1:]] + [float("inf")]
    return max(down for (begin, down), end in zip(skyline, ends, strict=True) if begin < left + wide and end > left)


def _raised(skyline: list[tuple[float, float]], left: float, right: float, down: float) -> list[tuple[float, float]]:
    """Return the skyline with everything between ``left`` and ``right`` filled to ``down``."""
    beyond = [level for begin, level in skyline if begin <= right][-1]
    return [
        *(step for step in skyline if step[0] < left),
        (left, down),
        (right, beyond),
        *(step for step in skyline if step[0] > right),
    ]


def in_columns(sizes: Sequence[tuple[float, float]], between: float) -> tuple[list[Spot], float, float]:
    """Return the left upper corner of each box, in columns one beside the other, and the width and height of all."""
    width = sum(wide for wide, _ in sizes) / max(len(sizes), 1) + between
    height = sum(high + between for _, high in sizes)
    in_column = max(1, round((height * width / _SCREEN) ** 0.5 / max(height / max(len(sizes), 1), 1.0)))
    spots: list[Spot] = []
    left, lowest = 0.0, 0.0
    for begin in range(0, len(sizes), in_column):
        column = sizes[begin : begin + in_column]
        top = 0.0
        for _, high in column:
            spots.append((left, top))
            top += high + between
        lowest = max(lowest, top)
        left += max(wide for wide, _ in column) + between
    return spots, max(left - between, 0.0), max(lowest - between, 0.0)
