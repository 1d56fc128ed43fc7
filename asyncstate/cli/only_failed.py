"""``apply --only-failed``: the states of a past run that are to run again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from asyncstate.cli.past_runs import journal_in, own_selection, plan_of, recorded_report, selection_of
from asyncstate.errors import CompileError, Issue

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from asyncstate.cli.settings import Selection
    from asyncstate.config import Settings
    from asyncstate.journal.entry import RunEntry
    from asyncstate.journal.store import Journal
    from asyncstate.model.plan import Plan
    from asyncstate.runtime import StateRuntime


class Unfinished(NamedTuple):
    """The tags of the states that failed in a run or did not start, as shown, and the selection to compile."""

    run: str
    tags: list[str]
    selection: Selection


def unfinished(settings: Settings, selection: Selection, run: str, given_pillar: Collection[str]) -> Unfinished:
    """Return the states of a run that are to run again; of the last real run, unless ``run`` names one.

    ``selection`` is from the command line; without SLS names, the run's own is used. Raises UsageError, JournalError.
    """
    from asyncstate.report.unfinished import unfinished_tags

    journal = journal_in(settings)
    entry = _chosen(journal, run)
    plan = plan_of(journal, entry)
    recorded = recorded_report(journal, entry)
    if recorded.lacks_events(entry.ending):
        raise click.UsageError(
            f"the record of run {entry.id} is incomplete, so what it left is not known: apply the tree again"
        )
    if plan is None and recorded.finished is None:
        raise click.UsageError(f"run {entry.id} has no end, and its plan was not kept: what it left is not known")
    tags = unfinished_tags(plan, recorded.report(entry.ending), journal.events(entry.id))
    if selection.sls is None:
        selection = _selection_of_tree(entry, selection, given_pillar)
    return Unfinished(entry.id, tags, selection)


def _chosen(journal: Journal, run: str) -> RunEntry:
    from asyncstate.errors import JournalError
    from asyncstate.journal.store import LATEST

    try:
        return journal.find(run, real=True)
    except JournalError as error:
        if run == LATEST or all(letter in "0123456789abcdef" for letter in run):
            raise
        raise click.UsageError(f"{error} SLS names stand before --only-failed: it takes a run after it.") from None


def _selection_of_tree(entry: RunEntry, selection: Selection, given_pillar: Collection[str]) -> Selection:
    """Return the selection of a run. Raises UsageError if the run did not compile a tree."""
    about, own = entry.about, selection_of(entry)
    if own.file or about.get("command") == "single":
        what = own.file or about.get("function")
        raise click.UsageError(f"run {entry.id} was no run of a tree, but of {what}. Apply that again.")
    missing = [key for key in own.pillar if key not in given_pillar]
    if missing:
        keys = ", ".join(missing)
        raise click.UsageError(
            f"run {entry.id} was given pillar data on the command line: {keys}. Give it again with --pillar."
        )
    return own_selection(entry, selection)


async def compile_unfinished(runtime: StateRuntime, wanted: Unfinished, say: Callable[[str], None]) -> Plan:
    """Compile the states of a run that are to run again, with the states they require. Raises CompileError."""
    from asyncstate.report.summary import describe_tag
    from asyncstate.report.terminal import count
    from asyncstate.report.unfinished import ids_to_repeat

    selection = wanted.selection
    compiled = partial(runtime.compile, selection.sls, saltenv=selection.saltenv, exclude=selection.exclude)
    plan = await compiled(ids=selection.ids)
    ids, gone = ids_to_repeat(plan, runtime.shown(plan), wanted.tags)
    for tag in gone:
        say(f"no longer in the tree: {describe_tag(tag)}")
    if not ids:
        what = f"no state that failed in run {wanted.run}, or did not start in it, is in this tree"
        raise CompileError([Issue(what, hint=f"what differs: asyncstate runs show {wanted.run}")])
    plan = await compiled(ids=ids)
    done = len(wanted.tags) - len(gone)
    say(
        f"{count(done, 'state')} failed in run {wanted.run} or did not start; "
        f"with what they require and what follows their changes: {count(len(plan.chunks), 'state')}"
    )
    return plan
