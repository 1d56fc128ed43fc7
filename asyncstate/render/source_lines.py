"""From a line of rendered text back to the line of the template it came from.

Jinja does not tell, so the texts are matched: a line without template syntax stands in the template as it is, any other
is recognised by what stands around its expressions.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final, NamedTuple

_SYNTAX: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}")
_SEVERAL_LINES: Final = re.compile(r"\{#.*?#\}|\{%.*?%\}", re.DOTALL)


class SourceLines:
    """Maps lines of ``rendered`` to lines of ``source``; both counted from 1. Built when first asked."""

    def __init__(self, source: str, rendered: str) -> None:
        self._source = source
        self._rendered = rendered
        self._lines: list[int] | None = None

    def line(self, rendered_line: int) -> int:
        """Return the line in the source, or the nearest known one before it; 0 if nothing is known."""
        if self._lines is None:
            self._lines = self._match()
        if not 1 <= rendered_line <= len(self._lines):
            return 0
        return self._lines[rendered_line - 1]

    def _match(self) -> list[int]:
        candidates = _Candidates(self._source)
        lines: list[int] = []
        here = 0
        for text in self._rendered.splitlines():
            stripped = text.strip()
            if stripped:
                here = candidates.best(stripped, here) or here
            lines.append(here)
        return lines


class _Form(NamedTuple):
    """Lines of a template that differ in nothing but the text of their expressions."""

    weight: int
    parts: tuple[str, ...]
    numbers: list[int]

    def fits(self, text: str) -> bool:
        """Whether the literal parts stand in the text in their order, first and last at its ends."""
        at = len(self.parts[0])
        end = len(text) - len(self.parts[-1])
        if at > end or not text.startswith(self.parts[0]) or not text.endswith(self.parts[-1]):
            return False
        for part in self.parts[1:-1]:
            found = text.find(part, at, end)
            if found < 0:
                return False
            at = found + len(part)
        return True


class _Candidates:
    """The lines of a template, as what rendered lines may have come from.

    Forms are found by the text before their first and after their last expression, so that a long template whose lines
    all differ is searched no longer than a short one.
    """

    def __init__(self, source: str) -> None:
        self._literal: dict[str, list[int]] = {}
        self._forms: dict[tuple[str, ...], _Form] = {}
        self._by_ends: dict[tuple[str, str], list[_Form]] = {}
        self._known: dict[str, list[int]] = {}
        for number, text in enumerate(_without_statements(source).splitlines(), 1):
            stripped = text.strip()
            if not stripped:
                continue
            if _SYNTAX.search(stripped) is None:
                self._literal.setdefault(stripped, []).append(number)
                continue
            self._add(tuple(_SYNTAX.split(stripped)), number)
        self._ends = sorted({(len(head), len(tail)) for head, tail in self._by_ends})

    def _add(self, parts: tuple[str, ...], number: int) -> None:
        form = self._forms.get(parts)
        if form is None:
            form = self._forms[parts] = _Form(sum(len(part.strip()) for part in parts), parts, [])
            self._by_ends.setdefault((parts[0], parts[-1]), []).append(form)
        form.numbers.append(number)

    def best(self, text: str, after: int) -> int:
        """Return the first line after ``after`` the text may come from, else the first of all (a loop went back)."""
        numbers = self._literal.get(text) or self._known.get(text)
        if numbers is None:
            numbers = self._known[text] = self._matching(text)
        if not numbers:
            return 0
        at = bisect_left(numbers, after + 1)
        return numbers[at] if at < len(numbers) else numbers[0]

    def _matching(self, text: str) -> list[int]:
        """Return the lines whose literal parts fit, of those the ones with most literal text."""
        found = [
            form
            for head, tail in self._ends
            for form in self._by_ends.get((text[:head], text[len(text) - tail :]), ())
            if form.fits(text)
        ]
        most = max((form.weight for form in found), default=0)
        return sorted(number for form in found if form.weight == most for number in form.numbers) if most else []


def _without_statements(source: str) -> str:
    """Blank out tags and comments, keeping every line break, also of those that span lines."""
    return _SEVERAL_LINES.sub(lambda found: "\n" * found[0].count("\n"), source)
