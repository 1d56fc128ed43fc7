"""``asyncstate what-if``: the duration of a past run with other numbers of slots."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import new_command, run_option
from asyncstate.cli.options import config_file_options
from asyncstate.cli.past_runs import journal_in, run_argument

if TYPE_CHECKING:
    from asyncstate.cli.console import Console

MOST = 1024
_PART = re.compile(r"([0-9]{1,6})(?:\.\.([0-9]{1,6}))?")


class SlotsType(click.ParamType[tuple[int, ...]]):
    """The type of numbers of slots: ``8``, ``1..64``, ``1,2,4..8``."""

    name = "slots"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the numbers, sorted and unique."""
        if isinstance(value, tuple):
            return value
        found: set[int] = set()
        for part in value.split(","):
            match = _PART.fullmatch(part.strip())
            if match is None:
                self.fail(f"{part!r} is no number of slots: 8, or several: 1..64 or 1,2,4", param, ctx)
            first, last = int(match[1]), int(match[2] or match[1])
            if not 1 <= first <= last <= MOST:
                self.fail(f"{part!r} is not within 1..{MOST}, from the lower to the higher", param, ctx)
            found.update(range(first, last + 1))
        return tuple(sorted(found))


@new_command(
    "what-if",
    forms=("human", "json", "yaml"),
    examples=(
        ("asyncstate what-if", "The last run, with 1 to 64 states at once."),
        ("asyncstate what-if 4be1 -j 1,2,4,8", "Some numbers."),
        ("asyncstate what-if -j 1..16 --out json", "Every number, for a program."),
    ),
)
@run_argument
@run_option(
    "-j",
    "--concurrency",
    "slots",
    metavar="N[..M]",
    type=SlotsType(),
    default="1..64",
    show_default=True,
    help="Number of states at once: a number, a range, or several with commas.",
)
@config_file_options
def command(console: Console, /, run: str | None, slots: tuple[int, ...], **options: Any) -> None:
    """Show how long a past run would have taken with more or fewer states at once.

    RUN is the ID of a run or a unique beginning of it; without it, the last run. Nothing is run: the scheduler works
    the plan of that run off on a clock of its own, and each state takes as long as it took. The answer has the critical
    path, too.
    """
    from asyncstate.extras.analyse.recording import recording
    from asyncstate.extras.analyse.simulate import Rules
    from asyncstate.extras.analyse.what_if import what_if, what_if_data, what_if_lines

    journal = journal_in(console.settings(options))
    entry = journal.find(run)
    record = journal.plan(entry.id)
    plan = record.plan()
    times = recording(plan, journal.events(entry.id), resumed=bool(entry.resumes))
    found = what_if(plan, times, slots, Rules.of(record))
    console.answer(partial(what_if_lines, found), lambda: {"run": entry.id, **what_if_data(found)})
