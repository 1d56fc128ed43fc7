"""The order of rpm's version numbers, ``epoch:version-release`` (rpm-version(7))."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SEGMENT = re.compile(r"[0-9]+|[a-zA-Z]+|~|\^")


def compare(first: str, second: str, *, ignore_epoch: bool = False) -> int:
    """Return -1, 0 or 1: whether ``first`` is older than, the same as or newer than ``second``.

    If one of them has no release, the release of the other is ignored: ``1.2`` equals ``1.2-3``.
    """
    left, right = split(first), split(second)
    if not ignore_epoch and left[0] != right[0]:
        return -1 if left[0] < right[0] else 1
    order = compare_part(left[1], right[1])
    if order or not (left[2] and right[2]):
        return order
    return compare_part(left[2], right[2])


def newer(names: Iterable[str], offered: Mapping[str, list[str]], installed: Mapping[str, list[str]]) -> dict[str, str]:
    """Return the newest available version of each package, "" unless it is newer than all installed ones."""
    found = {}
    for name in names:
        newest = next(iter(offered.get(name, ())), "")
        found[name] = newest if all(compare(each, newest) < 0 for each in installed.get(name, [])) else ""
    return found


def split(version: str) -> tuple[int, str, str]:
    """Return epoch, version and release; 0 and "" for missing parts."""
    epoch, colon, rest = version.strip().partition(":")
    if not colon or not epoch.isdigit():
        epoch, rest = "0", version.strip()
    number, _, release = rest.partition("-")
    return int(epoch), number, release


def compare_part(first: str, second: str) -> int:
    """Compare two versions, or two releases, segment by segment.

    ``~`` sorts before everything, even the end; ``^`` after the end but before everything else; numbers after letters.
    """
    left, right = _SEGMENT.findall(first), _SEGMENT.findall(second)
    for one, other in zip(left, right, strict=False):
        if one != other:
            order = _compare_segment(one, other)
            if order:
                return order
    if len(left) == len(right):
        return 0
    longer, sign = (left, 1) if len(left) > len(right) else (right, -1)
    return -sign if longer[min(len(left), len(right))] == "~" else sign


def _compare_segment(one: str, other: str) -> int:
    for mark in "~^":
        if mark in {one, other}:
            return -1 if one == mark else 1
    if one.isdigit() and other.isdigit():
        return _sign(int(one), int(other))
    if one.isdigit() or other.isdigit():
        return 1 if one.isdigit() else -1
    return _sign(one, other)


def _sign(one: int | str, other: int | str) -> int:
    return (one > other) - (one < other)  # type: ignore[operator]  # both are of one kind
