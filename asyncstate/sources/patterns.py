"""Regular expressions from a tree: refusal of those with exponential backtracking.

Python backtracks, and for some patterns (``(a+)+b``) the time doubles with each character of the text. Nothing can
interrupt that within this process. So a pattern of that form is first tried on its text in another process, with a
time limit. Ordinary patterns are not tried.
"""

from __future__ import annotations

import marshal
import re
import sys
from functools import lru_cache
from typing import Final

from asyncstate.pattern import lazy_pattern

_SECONDS: Final = 5
"""Time limit of a pattern for one text, in seconds."""
_PATIENCE: Final = 120
"""Time limit of the trial as a whole on a busy machine, in seconds."""
_SHORT: Final = 16
"""Shorter texts need no trial: there are few ways to match."""
_MOST_WAYS: Final = 10**9
_REPETITION: Final = lazy_pattern(r"[*+]|\{\d*,?\d*\}")
_TRIAL: Final = f"""
import marshal, re, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({_SECONDS}, {_SECONDS}))
pattern, text = marshal.load(sys.stdin.buffer)
for found in re.finditer(pattern, text):
    pass
re.match(pattern, text)
"""


def require_fast(pattern: object, text: object) -> None:
    """Raise ValueError if a search for ``pattern`` in ``text`` takes too long. An invalid pattern is left to `re`."""
    if not isinstance(pattern, str) or not isinstance(text, str) or len(text) < _SHORT or not sys.executable:
        return
    nested, repetitions = _form(pattern)
    if not nested and (repetitions < 2 or len(text) ** min(repetitions, 9) < _MOST_WAYS):
        return
    try:
        re.compile(pattern)
    except (re.error, ValueError, RecursionError, OverflowError):
        return
    trial = [sys.executable, "-ISc", _TRIAL]
    from asyncstate.process.child import run_child  # noqa: PLC0415 - seldom called

    ended = run_child(trial, stdin=marshal.dumps((pattern, text)), timeout=_PATIENCE)
    if ended.timed_out or ended.returncode < 0:
        raise ValueError(
            f"the regular expression {pattern[:100]!r} takes more than {_SECONDS} seconds: it can match the same "
            "text in too many ways. Repeat no group that itself repeats or has alternatives"
        )


@lru_cache(maxsize=256)
def _form(pattern: str) -> tuple[bool, int]:
    """Return whether a pattern repeats a group with repetitions or alternatives, and the number of repetitions."""
    open_groups: list[bool] = []
    varied = nested = False
    repetitions = at = 0
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if character == "\\":
            at += 1
        elif character == "[":
            at = _end_of_class(pattern, at)
        elif character == "(":
            open_groups.append(varied)
            varied = False
        elif character == ")" and open_groups:
            inner, varied = varied, open_groups.pop()
            nested = nested or (inner and _REPETITION.match(pattern, at) is not None)
            varied = varied or inner
        elif character == "|" or (character == "?" and at > 1 and pattern[at - 2] != "("):
            varied = True
        elif _REPETITION.match(pattern, at - 1):
            varied = True
            repetitions += 1
    return nested, repetitions


def _end_of_class(pattern: str, at: int) -> int:
    """Return the position after a character class that begins at ``at``."""
    at += pattern.startswith("^", at)
    at += pattern.startswith("]", at)
    while at < len(pattern) and pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1
