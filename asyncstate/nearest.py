"""The nearest right name: the probable meaning of a misspelt word.

One measure serves arguments, functions, SLS names, files and options: the number of typing slips between two words
(optimal string alignment distance). A letter too many, too few or wrong counts one, and so do two exchanged letters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_LONG = 8
"""Two slips are allowed in words of at least this length, one in shorter words."""

_COMPARED = 3_000
"""The maximum of names compared letter by letter: a mistake in a huge tree must be reported at once."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most like ``name``, or "" if no name is similar."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake needs it

    names = set(known)
    near = near_miss(name, names)
    if near:
        return near
    alike = sorted(names, key=lambda other: (abs(len(other) - len(name)), other))
    return next(iter(get_close_matches(name, alike[:_COMPARED], n=1)), "")


def did_you_mean(near: str) -> str:
    """Return the question whether a name was meant, a hint for a mistake; "" without a name."""
    return f"did you mean '{near}'?" if near else ""


def near_miss(name: str, known: Collection[str]) -> str:
    """Return the known name that is one or two slips away from ``name``; "" if there is none, or ``name`` is known.

    A wrong first letter is not a slip: ``node`` and ``mode``, ``match`` and ``watch`` are different words.
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


def nearest_id(given: str, known: Iterable[str]) -> str:
    """Return the ID that a mistyped ID, or a mistyped prefix of one, probably means; "" if none is similar.

    IDs are random: unlike in words, a few shared letters mean nothing.
    """
    if len(given) < _LONG:
        return ""
    by_beginning = {each[: len(given)]: each for each in known}
    return by_beginning.get(near_miss(given, by_beginning), "")


def _begin_alike(name: str, other: str) -> bool:
    """Whether two words share the first letter, have the first two exchanged, or one lacks the other's first letter."""
    same = name[:1] == other[:1] or name[:2] == other[1::-1]
    return same or name[1:2] == other[:1] or name[:1] == other[1:2]


def slips(one: str, other: str, limit: int) -> int:
    """Return the number of slips between two words, or ``limit`` if there are at least that many."""
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
