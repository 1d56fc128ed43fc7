"""Compares Debian version numbers, as the policy manual (5.6.12) defines their order."""

from __future__ import annotations

import re
from itertools import zip_longest

_PARTS = re.compile(r"(\D*)(\d*)")


def compare(first: str, second: str) -> int:
    """Return -1, 0 or 1: whether ``first`` is older than, the same as or newer than ``second``."""
    one, two = _split(first), _split(second)
    if one[0] != two[0]:
        return 1 if one[0] > two[0] else -1
    return _compare_part(one[1], two[1]) or _compare_part(one[2], two[2])


def _split(version: str) -> tuple[int, str, str]:
    """Return epoch, upstream version and Debian revision."""
    epoch, colon, rest = version.strip().partition(":")
    if not colon or not epoch.isdigit():
        epoch, rest = "0", version.strip()
    upstream, _, revision = rest.rpartition("-") if "-" in rest else (rest, "", "")
    return int(epoch), upstream, revision


def _compare_part(first: str, second: str) -> int:
    for (text, number), (other_text, other_number) in zip_longest(
        _PARTS.findall(first), _PARTS.findall(second), fillvalue=("", "")
    ):
        if text != other_text:
            one, two = ([*map(_weight, part), 0] for part in (text, other_text))
            return 1 if one > two else -1
        difference = int(number or 0) - int(other_number or 0)
        if difference:
            return 1 if difference > 0 else -1
    return 0


def _weight(char: str) -> int:
    """Return the place of a character: ``~`` before the end of the part, letters before everything else."""
    if char == "~":
        return -1
    return ord(char) if char.isalpha() else ord(char) + 256
