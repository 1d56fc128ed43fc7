"""From a line of rendered text back to the line of the template it came from.

Jinja does not tell, so the texts are matched: a line without template syntax stands in the template as it is, any other
is recognised by what stands around its expressions.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final, NamedTuple

_SYNTAX: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}")
_SEVERAL_LINES: Final = re.compile(r"\{#.*?#\}|\{%.*?%\}", re.DOTALL)


class SourceLines:
    """Maps lines of ``rendered`` to lines of ``source``; both counted from 1. Nothing is matched before it is asked."""

    def __init__(self, source: str, rendered: str) -> None:
        self._source = source
        self._rendered = rendered
        self._texts: list[str] | None = None
        self._candidates: _Candidates | None = None
        self._lines: list[int] | None = None

    def line(self, rendered_line: int) -> int:
        """Return the line in the source, or the nearest known one before it; 0 if nothing is known.

        A line beyond the end is where parsers report an unexpected end: it counts as the last one.
        """
        if self._texts is None or self._candidates is None:
            self._texts = self._rendered.splitlines()
            self._candidates = _Candidates(self._source)
        at = min(rendered_line, len(self._texts)) - 1
        if at < 0:
            return 0
        if self._lines is None:
            numbers = self._candidates.of(self._texts[at].strip())
            if len(numbers) == 1:
                return numbers[0]
            self._lines = _walk(self._texts, self._candidates)
        return self._lines[at]


def _walk(texts: list[str], candidates: _Candidates) -> list[int]:
    """Match line by line, each to the next candidate after the one before it, else to the first (a loop went back)."""
    lines = []
    here = 0
    for text in texts:
        numbers = candidates.of(text.strip())
        if numbers:
            at = bisect_right(numbers, here)
            here = numbers[at] if at < len(numbers) else numbers[0]
        lines.append(here)
    return lines


class _Pattern(NamedTuple):
    """A line with template syntax: the literal text around it, and a regex where more than two pieces are literal."""

    weight: int
    number: int
    start: str
    end: str
    regex: re.Pattern[str] | None

    def fits(self, text: str) -> bool:
        """Tell whether a rendered line may come from this one."""
        if not (text.startswith(self.start) and text.endswith(self.end)):
            return False
        if self.regex is None:
            return len(text) >= len(self.start) + len(self.end)
        return self.regex.match(text) is not None


class _Candidates:
    """The lines of a template, as what rendered lines may have come from."""

    def __init__(self, source: str) -> None:
        self._known: dict[str, list[int]] = {"": []}
        patterns = []
        for number, text in enumerate(_without_statements(source).splitlines(), 1):
            stripped = text.strip()
            if not stripped:
                continue
            if _SYNTAX.search(stripped) is None:
                self._known.setdefault(stripped, []).append(number)
                continue
            parts = _SYNTAX.split(stripped)
            weight = sum(len(part.strip()) for part in parts)
            regex = re.compile(".*?".join(map(re.escape, parts)) + r"\Z") if len(parts) > 2 else None
            if weight:
                patterns.append(_Pattern(weight, number, parts[0], parts[-1], regex))
        self._patterns = sorted(patterns, key=lambda pattern: -pattern.weight)

    def of(self, text: str) -> list[int]:
        """Return, in order, the lines a rendered line may come from: equal ones, else those with most literal text."""
        numbers = self._known.get(text)
        if numbers is None:
            numbers = self._known[text] = self._matching(text)
        return numbers

    def _matching(self, text: str) -> list[int]:
        numbers: list[int] = []
        weight = 0
        for pattern in self._patterns:
            if pattern.weight < weight:
                break
            if pattern.fits(text):
                weight = pattern.weight
                numbers.append(pattern.number)
        return numbers


def _without_statements(source: str) -> str:
    """Blank out tags and comments, keeping every line break, also of those that span lines."""
    return _SEVERAL_LINES.sub(lambda found: "\n" * found[0].count("\n"), source)
