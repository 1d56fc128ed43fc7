"""The order of pacman's version numbers, ``epoch:version-release``, as ``vercmp`` defines it."""

from __future__ import annotations

import re
import string

_ALPHANUMERIC = frozenset(string.ascii_letters + string.digits)
_SEGMENT = re.compile(r"([^0-9A-Za-z]*)([0-9]+|[A-Za-z]+|)")


def compare(first: str, second: str, *, ignore_epoch: bool = False) -> int:
    """Return -1, 0 or 1: whether ``first`` is older than, the same as or newer than ``second``.

    If one of them has no release, the release of the other is ignored.
    """
    left, right = _split(first), _split(second)
    if not ignore_epoch and left[0] != right[0]:
        return -1 if left[0] < right[0] else 1
    order = _compare_part(left[1], right[1])
    if order or not (left[2] and right[2]):
        return order
    return _compare_part(left[2], right[2])


def _split(version: str) -> tuple[int, str, str]:
    epoch, colon, rest = version.strip().partition(":")
    if not colon or not epoch.isdigit():
        epoch, rest = "0", version.strip()
    number, dash, release = rest.rpartition("-")
    return (int(epoch), number, release) if dash else (int(epoch), rest, "")


def _compare_part(first: str, second: str) -> int:
    """Compare segment by segment: runs of digits or letters, and the number of separators between them."""
    left, right = _segments(first), _segments(second)
    place = 0
    for (gap, one), (other_gap, other) in zip(left, right, strict=False):
        if not one or not other:
            break
        if len(gap) != len(other_gap):
            return -1 if len(gap) < len(other_gap) else 1
        if one.isdigit() != other.isdigit():
            return 1 if one.isdigit() else -1
        order = _sign(int(one), int(other)) if one.isdigit() else _sign(one, other)
        if order:
            return order
        place += 1
    return _compare_rest(_text(left[place:]), _text(right[place:]))


def _compare_rest(one: str, other: str) -> int:
    """Compare the rest when one version has ended: letters make a version older (``1.0rc``), everything else newer."""
    if one and other:
        one, other = (text.lstrip("".join(set(text) - _ALPHANUMERIC)) for text in (one, other))
    if one == other:
        return 0
    if one:
        return -1 if one[0].isalpha() else 1
    return 1 if other[0].isalpha() else -1


def _segments(text: str) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in _SEGMENT.finditer(text) if match[0]]


def _text(segments: list[tuple[str, str]]) -> str:
    return "".join(gap + segment for gap, segment in segments)


def _sign(one: int | str, other: int | str) -> int:
    return (one > other) - (one < other)  # type: ignore[operator]  # both are of one kind
