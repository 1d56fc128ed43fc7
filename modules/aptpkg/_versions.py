"""The order of Debian version numbers, as ``dpkg --compare-versions`` defines it (deb-version(7))."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PARTS = re.compile(r"([^0-9]*)([0-9]*)")
_CONDITION = re.compile(r"^(<=>|!=|>=|<=|>>|<<|<>|>|<|==|=)?\s*([^<>=]+)$")
_MEANING = {
    "<": (-1,),
    "<<": (-1,),
    "<=": (-1, 0),
    "=": (0,),
    "==": (0,),
    ">=": (0, 1),
    ">": (1,),
    ">>": (1,),
    "!=": (-1, 1),
    "<>": (-1, 1),
}


def compare(first: str, second: str, *, ignore_epoch: bool = False) -> int:
    """Return -1, 0 or 1: whether ``first`` is older than, the same as or newer than ``second``."""
    left, right = _split(first), _split(second)
    if not ignore_epoch and left[0] != right[0]:
        return -1 if left[0] < right[0] else 1
    for one, other in zip(left[1:], right[1:], strict=True):
        order = _compare_part(str(one), str(other))
        if order:
            return order
    return 0


def newest_match(condition: str, available: Iterable[str], *, ignore_epoch: bool = False) -> str | None:
    """Return the first of ``available`` that meets every part of a condition like ``>=1.2,<2``; None if none does."""
    parts = [_condition(part) for part in condition.split(",")]
    for version in available:
        if all(meets(version, operator, wanted, ignore_epoch=ignore_epoch) for operator, wanted in parts):
            return version
    return None


def meets(version: str, operator: str, wanted: str, *, ignore_epoch: bool = False) -> bool:
    """Return whether ``version`` has the relation ``operator`` to ``wanted``, which may be a glob."""
    if operator in {"=", "=="} and fnmatch.fnmatch(version, wanted):
        return True
    return compare(version, wanted, ignore_epoch=ignore_epoch) in _MEANING.get(operator, ())


def _condition(text: str) -> tuple[str, str]:
    match = _CONDITION.match(text.strip())
    return (match[1] or "==", match[2].strip()) if match else ("==", text.strip())


def _split(version: str) -> tuple[int, str, str]:
    epoch, colon, rest = version.strip().partition(":")
    if not colon or not epoch.isdigit():
        epoch, rest = "0", version.strip()
    upstream, _, revision = rest.rpartition("-") if "-" in rest else (rest, "", "0")
    return int(epoch), upstream, revision


def _compare_part(first: str, second: str) -> int:
    """Compare alternately the parts without digits, character by character, and the digits, as numbers."""
    for (text, number), (other_text, other_number) in _pairs(first, second):
        if text != other_text:
            left, right = _ranks(text), _ranks(other_text)
            return -1 if left < right else 1
        left_number, right_number = int(number or 0), int(other_number or 0)
        if left_number != right_number:
            return -1 if left_number < right_number else 1
    return 0


def _pairs(first: str, second: str) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    left, right = _PARTS.findall(first), _PARTS.findall(second)
    empty = ("", "")
    for index in range(max(len(left), len(right))):
        yield (left[index] if index < len(left) else empty), (right[index] if index < len(right) else empty)


def _ranks(text: str) -> list[int]:
    """Return sort keys of the characters: ``~`` before the end, the end before letters, letters before the rest."""
    return [-1 if char == "~" else ord(char) if char.isalpha() else ord(char) + 256 for char in text] + [0]
