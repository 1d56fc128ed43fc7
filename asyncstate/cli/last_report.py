"""The program that reports a run from the journal when the process of the run could not.

In a process that has to end at once, locks may be held and memory may be used up: it cannot even import. But it can
replace itself (exec) with this program and keep its pid (`asyncstate.cli.LastReport`).
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from asyncstate.cli.console import Console, drop_output
from asyncstate.cli.past_runs import journal_in, plan_of
from asyncstate.cli.root import root, write_files
from asyncstate.cli.session import Session
from asyncstate.errors import Issue, JournalError

if TYPE_CHECKING:
    from types import FrameType

_LONGEST = 30
"""Time limit for the report, in seconds: its reader may not read."""


def main() -> None:
    """Write the output that a command line requested: ``PATH CODE WHY RUN ANSWERED ARGUMENTS…``. Never returns."""
    _, code, why, run, answered, *arguments = sys.argv[1:]

    def end(_number: int, _frame: FrameType | None) -> None:
        os._exit(int(code))

    numbers = (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)  # forgets those that arrived while this program began
        signal.signal(number, end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
    signal.alarm(_LONGEST)
    try:
        report(arguments, run, why, int(code), answered=bool(answered))
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    finally:
        os._exit(int(code))


def report(arguments: list[str], run: str, why: str, code: int, *, answered: bool) -> None:
    """Write the answer, unless it has begun, and the files that these arguments name.

    ``run`` is the ID of the run, empty if none has begun.
    """
    console = Console()
    options = _options(console, arguments)
    if not options:
        return
    if answered or console.out == "jsonl":  # a part of the answer is written
        drop_output()
    if run:
        try:
            _replay(console, options, run, why)
        except JournalError as error:
            console.complain(str(error))
        except Exception as error:  # noqa: BLE001 - what ended the run may end its report: the files say so
            console.results = []
            console.complain(f"the report could not be made: {type(error).__name__}")
    if not console.results:
        known = "what its states did is not reported: see asyncstate runs list" if run else "no run had begun"
        console.problems.append(Issue(f"The program was ended where it was ({why}), and {known}."))
    write_files(console, code)


def _replay(console: Console, options: dict[str, Any], run: str, why: str) -> None:
    options["progress"] = "none"
    settings = console.settings(options)
    journal = journal_in(settings)
    entry = msgspec.structs.replace(journal.find(run), ending=why)
    session = Session(console, settings, options)
    session.problem = f"The program was ended where it was: {why}."
    session.replay(journal.events(entry.id), plan_of(journal, entry), entry)


def _options(console: Console, arguments: list[str]) -> dict[str, Any]:
    """Return the options of a command line; nothing if it is invalid."""
    context = root.make_context("asyncstate", list(arguments), obj=console)
    while isinstance(context.command, click.Group):
        name, command, rest = context.command.resolve_command(context, [*context.protected_args, *context.args])
        if command is None:
            return {}
        context = command.make_context(name, rest, parent=context)
    return context.params
