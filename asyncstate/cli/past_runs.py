"""Common parts of the commands about past runs: the journal, and the argument RUN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import completes

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.cli.settings import Selection
    from asyncstate.config import Settings
    from asyncstate.journal.entry import RunEntry
    from asyncstate.journal.store import Journal
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import RunReport
    from asyncstate.plans.record import Selection as Recorded
    from asyncstate.report.recorded import RecordedReport


run_argument: Callable[[Any], Any] = click.argument("run", required=False, shell_complete=completes("run"))
"""RUN: an ID or a unique beginning of one; ``latest`` or nothing means the latest run."""


def journal_in(settings: Settings) -> Journal:
    """Open the journal of this machine."""
    from asyncstate.journal.store import Journal

    return Journal.open(settings.state_dir)


def report_of(journal: Journal, entry: RunEntry) -> RunReport:
    """Return the report of a run; for a run without an end, the part recorded so far."""
    recorded = recorded_report(journal, entry)
    plan = None if recorded.finished is not None else plan_of(journal, entry)
    return recorded.report(entry.ending, () if plan is None else [chunk.tag for chunk in plan.chunks])


def recorded_report(journal: Journal, entry: RunEntry) -> RecordedReport:
    """Read a run from the journal."""
    from asyncstate.report.recorded import RecordedReport

    recorded = RecordedReport()
    for event in journal.events(entry.id):
        recorded.on_event(event)
    return recorded


def selection_of(entry: RunEntry) -> Recorded:
    """Return the selection that a run compiled, from the journal. Raises JournalError if the entry is malformed."""
    import msgspec

    from asyncstate.errors import JournalError
    from asyncstate.plans.record import Selection as Recorded

    said = {name: entry.about.get(name) for name in Recorded.__struct_fields__}
    try:
        return msgspec.convert({name: value for name, value in said.items() if value}, Recorded)
    except msgspec.ValidationError as error:
        raise JournalError(f"the journal does not say what run {entry.id} compiled: {error}") from None


def own_selection(entry: RunEntry, selection: Selection) -> Selection:
    """Return the selection that a run compiled; the environment and exclusions of ``selection`` override its own.

    Raises JournalError.
    """
    own = selection_of(entry)
    return selection._replace(
        sls=None if own.sls is None else list(own.sls),
        saltenv=selection.saltenv or own.saltenv,
        exclude=selection.exclude or own.exclude,
        ids=own.ids,
    )


def plan_of(journal: Journal, entry: RunEntry) -> Plan | None:
    """Return the plan of a run for display; None if it was not kept."""
    from asyncstate.errors import AsyncStateError

    try:
        return journal.plan(entry.id).plan()
    except AsyncStateError:
        return None
