"""``asyncstate runs``: the runs that the journal of this machine keeps."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import Family, option, run_option
from asyncstate.cli.options import config_file_options
from asyncstate.cli.past_runs import journal_in, plan_of, report_of, run_argument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.cli.console import Console
    from asyncstate.report.terminal import Palette


@click.group("runs", cls=Family)
def command(console: Console, /) -> None:
    """List, show, compare and forget past runs of this machine."""
    console.answers_with_data = True


@command.command(
    "list",
    forms=("human", "json", "yaml"),
    examples=(
        ("asyncstate runs list", "All runs that the journal keeps, newest first."),
        ("asyncstate runs list -n 1 --out json", "The last run, for a program."),
    ),
)
@option(
    "-n",
    "--number",
    metavar="N",
    type=click.IntRange(min=1),
    help="Show the last N runs only. Default: all.",
)
@config_file_options
def list_(console: Console, /, number: int | None, **options: Any) -> None:
    """List the runs of this machine, newest first: when, how long, how many states, how it ended."""
    from asyncstate.report.runs import run_data, run_table

    settings = console.settings(options)
    journal = journal_in(settings)
    entries = journal.runs()[:number]
    if not entries:
        console.say(f"no runs yet: the journal in {settings.state_dir} is empty")
    console.answer(partial(run_table, entries), lambda: [run_data(entry) for entry in entries])


@command.command(
    "show",
    forms=("human", "json", "yaml"),
    examples=(
        ("asyncstate runs show", "The last run."),
        ("asyncstate runs show 4be1 --out json", "A run by the beginning of its ID, for a program."),
    ),
)
@run_argument
@config_file_options
def show(console: Console, /, run: str | None, **options: Any) -> None:
    """Show one run: its options, how it ended, a line for each state, and the summary.

    RUN is the ID of a run or a unique beginning of it; without it, the last run. To see all that its report said, see:
    asyncstate replay.
    """
    from asyncstate.report.runs import run_data, run_lines

    settings = console.settings(options)
    journal = journal_in(settings)
    entry = journal.find(run)
    report = report_of(journal, entry)

    def lines(_palette: Palette) -> Iterator[str]:
        from msgspec import structs

        from asyncstate.cli.display import brief_style
        from asyncstate.model.forecast import forecast
        from asyncstate.report.blockers import held_back

        plan = plan_of(journal, entry) if report.test or report.failed else None
        foretold = forecast(report, plan) if plan is not None else None
        style = structs.replace(brief_style(console, settings), held=held_back(report, plan))
        return run_lines(entry, report, style, foretold)

    console.answer(lines, lambda: {**run_data(entry), "rows": report.rows, "not_started": list(report.not_started)})


@command.command(
    "prune",
    forms=("human", "json", "yaml"),
    examples=(
        ("asyncstate runs prune --dry-run", "What would be forgotten now."),
        ("asyncstate runs prune --keep-runs 20 --keep-days 7", "Keep at most twenty runs, and none older than a week."),
    ),
)
@run_option(
    "--keep-runs",
    metavar="N",
    type=click.IntRange(min=1),
    help="Keep the last N runs. Default: journal_keep_runs of the configuration.",
)
@run_option(
    "--keep-days",
    metavar="DAYS",
    type=click.FloatRange(min=0),
    help="Keep runs that began in the last DAYS days. Default: journal_keep_days of the configuration.",
)
@run_option("--dry-run", is_flag=True, help="Only list the runs that would be deleted.")
@config_file_options
def prune(console: Console, /, keep_runs: int | None, keep_days: float | None, dry_run: bool, **options: Any) -> None:
    """Delete old and damaged runs. The last whole one always stays, and so does a run that is under way.

    A run is forgotten if it is not among the last --keep-runs, or older than --keep-days. This happens after each run,
    too, by the settings journal_keep_runs and journal_keep_days.
    """
    from asyncstate.report.runs import run_table
    from asyncstate.report.terminal import count

    settings = console.settings(options)
    runs = settings.journal_keep_runs if keep_runs is None else keep_runs
    days = settings.journal_keep_days if keep_days is None else keep_days
    journal = journal_in(settings)
    gone = journal.prune(runs, days, dry_run=dry_run)
    kept = len(journal.runs()) - (len(gone) if dry_run else 0)
    word = "would be forgotten" if dry_run else "forgotten"

    def lines(palette: Palette) -> Iterator[str]:
        yield from (*run_table(gone, palette), "") if gone else ()
        yield f"{count(len(gone), 'run')} {word}, {kept} kept."

    console.answer(lines, lambda: {"dry_run": dry_run, "forgotten": [entry.id for entry in gone], "kept": kept})
