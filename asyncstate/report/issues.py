"""The mistakes in a tree as text: Salt's heading, then each error with its place and the next step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate import extend
from asyncstate.model.chunk import file_line
from asyncstate.report.terminal import PLAIN, Palette, clean, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from asyncstate.errors import Issue
    from asyncstate.model.plan import Plan


def issue_lines(issues: Sequence[Issue], palette: Palette = PLAIN) -> Iterator[str]:
    """Yield ``Data failed to compile:``, every issue below a line of dashes, and the command that explains a code."""
    yield palette.paint(palette.red, "    Data failed to compile:")
    for issue in issues:
        yield palette.paint(palette.red, "----------")
        for line in clean(issue.message.rstrip("\n")).splitlines():
            yield palette.paint(palette.red, f"    {line}")
        yield from _place(issue, palette)
    if (codes := [issue.code for issue in issues if issue.code]) and "explain" in extend.commands():
        yield palette.paint(palette.dim, f"What a code means: asyncstate explain {codes[-1]}")


def issue_text(issue: Issue) -> str:
    """Return the message of an issue, with its code at the end, for programs."""
    return f"{issue.message.rstrip()} [{issue.code}]" if issue.code else issue.message


def warning_lines(issues: Iterable[Issue], palette: Palette = PLAIN) -> Iterator[str]:
    """Yield ``warning: …`` for each issue, followed by its place and hint."""
    for issue in issues:
        first, *rest = clean(issue.message.rstrip("\n")).splitlines() or [""]
        yield palette.paint(palette.yellow, "warning:") + f" {first}"
        yield from (f"    {line}" for line in rest)
        yield from _place(issue, palette)


def unknown_lines(plan: Plan) -> Iterator[str]:
    """Yield one line with the number of states that only requisites order; nothing if there are none."""
    if plan.unknown:
        has, them = ("has", "it") if len(plan.unknown) == 1 else ("have", "them")
        hint = " (asyncstate lint names them)" if "lint" in extend.commands() else ""
        yield f"{count(len(plan.unknown), 'state')} {has} unknown effects: only requisites order {them}{hint}."


def _place(issue: Issue, palette: Palette) -> Iterator[str]:
    place = file_line(issue.file, issue.line)
    said = " ".join(filter(None, [f"at {clean(place)}" if place else "", f"[{issue.code}]" if issue.code else ""]))
    if said:
        yield palette.paint(palette.dim, f"      {said}")
    if issue.hint:
        yield from (f"      {line}" for line in clean(issue.hint).splitlines())
