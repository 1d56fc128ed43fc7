"""``asyncstate replay``: show a past run again, as if it had just ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.cli.framework import new_command
from asyncstate.cli.options import config_file_options, metrics_option, report_options
from asyncstate.cli.past_runs import journal_in, plan_of, run_argument

if TYPE_CHECKING:
    from asyncstate.cli.console import Console


@new_command(
    "replay",
    examples=(
        ("asyncstate replay", "The report of the last run, for instance after the terminal was closed."),
        ("asyncstate replay 4be1 --out json", "A run by the beginning of its ID, as data."),
        (
            "asyncstate replay --report run.html --profile",
            "Write the page and the profile of a run that has ended.",
        ),
    ),
)
@run_argument
@config_file_options
@report_options
@metrics_option
def command(console: Console, /, run: str | None, **options: Any) -> int:
    """Show the report of a past run again, in any format.

    RUN is the ID of a run or a unique beginning of it; without it, the last run. Nothing is run. The output is that
    which the run had, or would have had with these options, and the exit code is that of the run. A run that was
    killed, or is still under way, is shown as far as it came.
    """
    from asyncstate.cli.session import Session

    if options["progress"] == "auto":
        options["progress"] = "none"  # the run is over
    settings = console.settings(options)
    journal = journal_in(settings)
    entry = journal.find(run)
    return Session(console, settings, options).replay(journal.events(entry.id), plan_of(journal, entry), entry)
