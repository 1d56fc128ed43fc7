"""Conditions on the version of a package, such as ``>=1.2,<2`` or ``1.*``, for any order of versions."""

from __future__ import annotations

import fnmatch
import re
from functools import cmp_to_key
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Compare = Callable[[str, str], int]

_CONDITION = re.compile(r"^(!=|>=|<=|<>|>|<|==|=)?\s*(.+)$")
_MEANING = {"<": (-1,), "<=": (-1, 0), "=": (0,), "==": (0,), ">=": (0, 1), ">": (1,), "!=": (-1, 1), "<>": (-1, 1)}


def is_condition(version: str | None) -> bool:
    """Return whether ``version`` may match several versions."""
    return version is not None and ("*" in version or version[:1] in {"<", ">", "!"})


def newest_match(condition: str, available: Iterable[str], compare: Compare) -> str | None:
    """Return the newest of ``available`` that meets every part of ``condition``; None if none does."""
    parts = [_split(part) for part in condition.split(",")]
    for version in newest_first(available, compare):
        if all(_meets(version, *part, compare) for part in parts):
            return version
    return None


def newest_first(versions: Iterable[str], compare: Compare) -> list[str]:
    """Return each version once, the newest first."""
    return sorted(set(versions), key=cmp_to_key(compare), reverse=True)


def _split(part: str) -> tuple[str, str]:
    match = _CONDITION.match(part.strip())
    return (match[1] or "==", match[2].strip()) if match else ("==", "")


def _meets(version: str, operator: str, wanted: str, compare: Compare) -> bool:
    if operator in {"=", "=="} and fnmatch.fnmatch(version, wanted):
        return True
    return compare(version, wanted) in _MEANING[operator]
