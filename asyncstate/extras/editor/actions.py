"""Code actions: add the requisite that lint misses, replace a mistaken name with its likely correction."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.extras.editor.outline import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from asyncstate.extras.editor.diagnostics import Diagnostic
    from asyncstate.extras.editor.messages import Fix

_MEANT = re.compile(r"""did you mean (?P<quote>['"])(?P<name>.+?)(?P=quote)\?""", re.IGNORECASE)
_WRONG = (
    re.compile(r"requisite \[[\w.]+: \((?:[\w.]+: )?(.+?)\)\]"),
    re.compile(r"Specified SLS (\S+) in saltenv"),
    re.compile(r"Specified SLS \S+: (\S+) is not"),
    re.compile(r"(salt://[^\s'\"]+)"),
    re.compile(r"['\"]([^'\"\n]+)['\"]"),
)
"""Patterns of the wrong word in a finding's message; the first that matches counts."""


class Action(NamedTuple):
    """A change of one file that mends a diagnostic: ``text`` in the place of ``start`` to ``end``, (line, column)."""

    title: str
    diagnostic: Diagnostic
    start: tuple[int, int]
    end: tuple[int, int]
    text: str


def actions(path: str, text: str, told: Iterable[Diagnostic], fixes: Sequence[Fix], lines: range) -> Iterator[Action]:
    """Yield the changes for the published diagnostics of some lines of a file."""
    written = text.split("\n")
    for each in told:
        if each.place.line not in lines:
            continue
        for fix in fixes:
            if (fix.rule, fix.file, fix.line - 1) == (each.rule, path, each.place.line):
                yield Action(fix.title, each, *_end_of_text(fix, written))
        yield from _meant(each, written)


def _end_of_text(fix: Fix, written: list[str]) -> tuple[tuple[int, int], tuple[int, int], str]:
    """Return the edit of a fix. An edit after a last line without a line feed begins with one."""
    last = len(written) - 1
    if fix.end <= last:
        return (fix.start, 0), (fix.end, 0), fix.text
    if fix.start > last:
        return (last, len(written[last])), (last, len(written[last])), f"\n{fix.text}"
    return (fix.start, 0), (last, len(written[last])), fix.text


def _meant(each: Diagnostic, written: list[str]) -> Iterator[Action]:
    found = _MEANT.search(each.message)
    if found is None:
        return
    place = _place_of_mistake(each, written)
    if place is not None:
        start, end = (place.line, place.start), (place.line, place.end)
        yield Action(f"Change to '{found['name']}'", each, start, end, found["name"])


def _place_of_mistake(each: Diagnostic, written: list[str]) -> Place | None:
    """Return the place of the word that a diagnostic calls wrong: in its line, or below in the same declaration."""
    message = each.message[: each.message.rfind("\n")] if "\n" in each.message else each.message
    for pattern in _WRONG:
        for wrong in pattern.findall(message):
            word = re.compile(rf"(?<![\w.-]){re.escape(wrong)}(?![\w.-])")
            for number in range(each.place.line, len(written)):
                line = written[number]
                if number > each.place.line and line[:1] not in {"", " ", "#", "{", "-"}:
                    break
                if match := word.search(line):
                    return Place(number, match.start(), match.end())
    return None
