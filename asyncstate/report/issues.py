"""Shows the mistakes in a tree to people: Salt's heading, then each error with its place and the next step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.report.terminal import PLAIN, Palette, clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from asyncstate.errors import Issue


def issue_lines(issues: Iterable[Issue], palette: Palette = PLAIN) -> Iterator[str]:
    """Yield ``Data failed to compile:``, then every issue below a line of dashes."""
    yield palette.paint(palette.red, "    Data failed to compile:")
    for issue in issues:
        yield palette.paint(palette.red, "----------")
        for line in clean(issue.message.rstrip("\n")).splitlines():
            yield palette.paint(palette.red, f"    {line}")
        yield from _place(issue, palette)


def warning_lines(issues: Iterable[Issue], palette: Palette = PLAIN) -> Iterator[str]:
    """Yield ``warning: …`` for each issue, followed by its place and hint."""
    for issue in issues:
        first, *rest = clean(issue.message.rstrip("\n")).splitlines() or [""]
        yield palette.paint(palette.yellow, "warning:") + f" {first}"
        yield from (f"    {line}" for line in rest)
        yield from _place(issue, palette)


def _place(issue: Issue, palette: Palette) -> Iterator[str]:
    if issue.file:
        place = f"{issue.file}:{issue.line}" if issue.line else issue.file
        yield palette.paint(palette.dim, f"      at {clean(place)}")
    if issue.hint:
        yield from (f"      {line}" for line in clean(issue.hint).splitlines())
