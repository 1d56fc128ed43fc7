"""Mapping from lines of rendered text back to lines of the template.

Jinja does not report these lines, so the two texts are matched: a line without template syntax is the same in both,
any other is recognised by the literal text around its expressions.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from asyncstate.pattern import lazy_pattern
from asyncstate.value import Value

_SYNTAX: Final = lazy_pattern(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}")
_SEVERAL_LINES: Final = lazy_pattern(r"\{#.*?#\}|\{%.*?%\}", re.DOTALL)


class SourceLines:
    """Maps lines of ``rendered`` to lines of ``source``, both counted from 1. The first call of `line` matches them."""

    def __init__(self, source: str, rendered: str) -> None:
        self._source = source
        self._rendered = rendered
        self._texts: list[str] | None = None
        self._candidates: _Candidates | None = None
        self._lines: list[int] | None = None

    def line(self, rendered_line: int) -> int:
        """Return the line in the source, or the nearest known one before it; 0 if nothing is known.

        A line beyond the end counts as the last one: parsers report an unexpected end there.
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
    """Match each line to the next candidate after the previous match, else to the first (a loop began again)."""
    lines = []
    here = 0
    for text in texts:
        numbers = candidates.of(text.strip())
        if numbers:
            at = bisect_right(numbers, here)
            here = numbers[at] if at < len(numbers) else numbers[0]
        lines.append(here)
    return lines


class _Form(Value):
    """Lines that differ only in their expressions: the literal text, and a regex if it has several pieces."""

    weight: int
    shortest: int
    regex: re.Pattern[str] | None
    numbers: list[int]

    def fits(self, text: str) -> bool:
        """Return whether a rendered line, whose ends match, may come from a line of this form."""
        return len(text) >= self.shortest if self.regex is None else self.regex.match(text) is not None


class _Candidates:
    """The lines of a template from which rendered lines may come.

    Forms are indexed by the text before their first and after their last expression: the search time for a rendered
    line does not grow with the length of the template.
    """

    def __init__(self, source: str) -> None:
        self._known: dict[str, list[int]] = {"": []}
        forms: dict[tuple[str, ...], _Form] = {}
        for number, text in enumerate(_without_statements(source).splitlines(), 1):
            stripped = text.strip()
            if not stripped:
                continue
            if _SYNTAX.search(stripped) is None:
                self._known.setdefault(stripped, []).append(number)
                continue
            parts = tuple(_SYNTAX.split(stripped))
            if parts not in forms:
                forms[parts] = _form(parts)
            forms[parts].numbers.append(number)
        self._forms: dict[tuple[str, str], list[_Form]] = {}
        for parts, form in forms.items():
            if form.weight:
                self._forms.setdefault((parts[0], parts[-1]), []).append(form)
        self._ends = {(len(start), len(end)) for start, end in self._forms}

    def of(self, text: str) -> list[int]:
        """Return the candidates for a rendered line, in order: equal lines, else those with most literal text."""
        numbers = self._known.get(text)
        if numbers is None:
            numbers = self._known[text] = self._matching(text)
        return numbers

    def _matching(self, text: str) -> list[int]:
        found = [
            form
            for start, end in self._ends
            for form in self._forms.get((text[:start], text[len(text) - end :]), ())
            if form.fits(text)
        ]
        most = max((form.weight for form in found), default=0)
        return sorted(number for form in found if form.weight == most for number in form.numbers)


def _form(parts: tuple[str, ...]) -> _Form:
    regex = re.compile(".*?".join(map(re.escape, parts)) + r"\Z") if len(parts) > 2 else None
    return _Form(sum(len(part.strip()) for part in parts), len(parts[0]) + len(parts[-1]), regex, [])


def _without_statements(source: str) -> str:
    """Return the source with tags and comments replaced by their line breaks."""
    return _SEVERAL_LINES.sub(lambda found: "\n" * found[0].count("\n"), source)
