"""Priorities: the order in which ready nodes start. Each is legal, for only the graph forbids an order.

A priority is a number for each node of a plan, the lowest first. The serial order is ``plan.rank``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asyncstate.model.plan import Plan


def shuffled(plan: Plan, seed: int) -> tuple[int, ...]:
    """Return a random priority, the same for the same seed."""
    import random  # noqa: PLC0415 - few runs are shuffled

    values = list(plan.rank)
    random.Random(seed).shuffle(values)  # noqa: S311 - a reproducible order, not a secret
    return tuple(values)


def in_turn(plan: Plan, priority: Sequence[int]) -> Sequence[int]:
    """Return a priority that keeps the serial order within each of the plan's turns."""
    if not plan.turns:
        return priority
    numbers = list(priority)
    for members in plan.turns:
        for member, number in zip(members, sorted(numbers[each] for each in members), strict=True):
            numbers[member] = number
    return tuple(numbers)
