"""The nearest right name: what a misspelt word was probably meant to be.

One measure for whatever has names: arguments, functions, SLS, files, options. A slip of the keys (a letter too many,
too few, wrong, or two exchanged) counts one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_LONG = 8
"""From this length on two slips are still the same word; of a shorter one they make another."""

_COMPARED = 3_000
"""How many names are compared letter by letter, so that a mistake in a huge tree is still reported at once."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most like ``name``, "" if none is like it at all."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake needs it

    names = set(known)
    near = near_miss(name, names)
    if near:
        return near
    alike = sorted(names, key=lambda other: (abs(len(other) - len(name)), other))
    return next(iter(get_close_matches(name, alike[:_COMPARED], n=1)), "")


def near_miss(name: str, known: Collection[str]) -> str:
    """Return the known name that ``name`` differs from by a slip or two only, "" if there is none, or it is known.

    Another first letter is no slip: ``node`` is a word of its own beside ``mode``, ``match`` beside ``watch``.
    """
    if name in known:
        return ""
    limit = 2 if len(name) >= _LONG else 1
    best, fewest = "", limit + 1
    for other in sorted(known):
        if abs(len(other) - len(name)) < fewest and len(other) > limit and _begin_alike(name, other):
            distance = slips(name, other, fewest)
            if distance < fewest:
                best, fewest = other, distance
    return best


def _begin_alike(name: str, other: str) -> bool:
    """Tell whether two words share the first letter, or have the first two exchanged, or one begins a letter late."""
    same = name[:1] == other[:1] or name[:2] == other[1::-1]
    return same or name[1:2] == other[:1] or name[:1] == other[1:2]


def slips(one: str, other: str, limit: int) -> int:
    """Return how many slips lead from one word to another; ``limit`` if there are that many or more."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        two_before, before, row = before, row, [at]
        for column, wanted in enumerate(other, 1):
            same = letter == wanted
            cost = min(before[column] + 1, row[column - 1] + 1, before[column - 1] + (not same))
            if not same and at > 1 and column > 1 and letter == other[column - 2] and one[at - 2] == wanted:
                cost = min(cost, two_before[column - 2] + 1)
            row.append(cost)
        if min(row) >= limit:
            return limit
    return min(row[-1], limit)
