"""``asyncstate runs diff``: what one run did differently from another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import completes, new_command
from asyncstate.cli.options import config_file_options
from asyncstate.cli.past_runs import journal_in, report_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.cli.console import Console
    from asyncstate.journal.entry import RunEntry
    from asyncstate.report.terminal import Palette


@new_command(
    "diff",
    forms=("human", "json", "yaml"),
    examples=(
        ("asyncstate runs diff", "What the last run did differently from the one before."),
        ("asyncstate runs diff 4be1 latest", "Two runs, by the beginning of an ID."),
    ),
)
@click.argument("before", metavar="[A", required=False, shell_complete=completes("run"))
@click.argument("after", metavar="B]", required=False, shell_complete=completes("run"))
@config_file_options
def command(console: Console, /, before: str | None, after: str | None, **options: Any) -> None:
    """Compare two runs: states that are new or gone, results, changes, comments, and times beyond noise.

    A and B are IDs of runs or unique beginnings of them. With A alone, B is the last run; without both, the last run is
    compared with the one before. A time counts if it is at least half as long again, and differs by 0.1 s.
    """
    from asyncstate.extras.analyse.run_diff import diff_data, diff_lines, run_diff
    from asyncstate.report.runs import run_data, run_table

    journal = journal_in(console.settings(options))
    first, second = _two_runs(console, journal.runs(), journal.find(before), journal.find(after), before)
    found = run_diff(report_of(journal, first), report_of(journal, second))
    same_plan = first.digest == second.digest

    def lines(palette: Palette) -> Iterator[str]:
        yield from run_table([first, second], palette)
        yield from ("Both have the same plan." if same_plan else "Their plans differ.", "")
        yield from diff_lines(found, palette, dry=(first.test, second.test))

    console.answer(
        lines, lambda: {"a": run_data(first), "b": run_data(second), "same_plan": same_plan, **diff_data(found)}
    )


def _two_runs(
    console: Console, entries: list[RunEntry], first: RunEntry, second: RunEntry, named: str | None
) -> tuple[RunEntry, RunEntry]:
    """Return the two runs to compare: if none was ``named``, the last and the one before. Raises UsageError."""
    if named is None:
        if len(entries) < 2:
            raise click.UsageError("there is only one run, and nothing to compare it with")
        first = entries[1]
    if first.id == second.id:
        console.say(f"both are run {first.id}")
    return first, second
