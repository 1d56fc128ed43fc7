"""Opens the journal of a run: writes its plan, and the results that it carries over from the run it resumes."""

from __future__ import annotations

import os
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

from asyncstate.errors import ResumeRefused
from asyncstate.journal.entry import FAILHARD, UNDER_WAY, Header
from asyncstate.journal.keeper import keeper_of
from asyncstate.journal.store import Journal
from asyncstate.model.encode import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from asyncstate.config import Settings
    from asyncstate.journal.entry import RunEntry
    from asyncstate.journal.keeper import Keeper, Plan
    from asyncstate.plans.comparison import Differences, InputChange
    from asyncstate.plans.recording import PlanRecorder
    from asyncstate.redact.redacted_plan import RedactedPlan
    from asyncstate.run.earlier_runs import EarlierRuns
    from asyncstate.run.options import RunOptions
    from asyncstate.run.resumed import ResumedDispatch

_MOST_LINES = 20
_DYING = 3.0
"""Seconds in which a killed run releases its log: a program that it was just starting holds it a moment longer."""
_LOOK = 0.05


class Keeping:
    """Opens the journal for one run. ``plan_key`` names the plan and its inputs, ``recorder`` makes its record.

    ``resumed`` gets the results of run ``run``, an ID or `asyncstate.journal.store.LATEST`; with ``force`` even if the
    plan differs.
    """

    def __init__(
        self,
        settings: Settings,
        plan_key: Callable[[], str],
        recorder: Callable[[RedactedPlan], PlanRecorder],
        *,
        resumed: ResumedDispatch | None = None,
        run: str | None = None,
        force: bool = False,
    ) -> None:
        self._settings = settings
        self._plan_key = plan_key
        self._recorder = recorder
        self._resumed = resumed
        self._run = run
        self._force = force

    def begin(
        self, options: RunOptions, about: Mapping[str, Any], shown: RedactedPlan, stop: Callable[[str], None]
    ) -> tuple[Keeper | None, list[str]]:
        """Return the keeper of a run, None without one, and notices for the report. Blocks.

        ``stop`` is called if the journal is required and can no longer be written. Raises JournalError, ResumeRefused.
        """
        past = None
        if self._resumed is not None:
            past = self._past(shown)
            self._resumed.go_on_from(past)
        if self._settings.journaled == "off":
            return None, []

        def made() -> tuple[Header, Plan]:
            key = self._plan_key()
            header = Header(
                run=options.run_id,
                host=options.host,
                pid=os.getpid(),
                plan=key,
                resumes="" if past is None else past.run,
                about=plain(dict(about)),
            )
            return header, (key, lambda: self._recorder(shown).encoded())

        keeper, notices = keeper_of(self._settings, made)
        if keeper is not None:
            if self._settings.journaled == "required":
                keeper.trouble = lambda why: stop(f"the journal cannot be written: {why}")
            if past is not None:
                try:
                    keeper.record(*past.records())
                except BaseException:  # nothing else has the keeper yet
                    keeper.close()
                    raise
        return keeper, notices

    def _past(self, shown: RedactedPlan) -> EarlierRuns:
        """Return the results of the run to resume. Raises JournalError, ResumeRefused."""
        from asyncstate.plans.comparison import compare  # noqa: PLC0415 - a run that is resumed
        from asyncstate.run.earlier_runs import EarlierRuns  # noqa: PLC0415 - as above

        journal = Journal.open(self._settings.state_dir)
        entry = resumable(journal, self._run)
        past = EarlierRuns.of(entry.id, journal.lines(entry.id))
        before, now = journal.plan(entry.id), self._recorder(shown).record()
        if not self._force:
            self._require_same(entry, past, compare(before, now))
        elif before.key != now.key:
            raise ResumeRefused(f"run {entry.id} was recorded with another key: nothing of it can be carried over")
        old = {chunk.tag: chunk.digest for chunk in before.chunks}
        same = {chunk.tag for chunk in now.chunks if old.get(chunk.tag) == chunk.digest}
        known = {chunk.tag for chunk in now.chunks}
        past.keep(lambda tag: tag in same or (tag not in known and not self._force))
        if entry.ending == FAILHARD:
            past.forget_failed({chunk.tag for chunk in now.chunks if chunk.failhard})
        return past

    def _require_same(self, entry: RunEntry, past: EarlierRuns, found: Differences) -> None:
        inputs = tuple(each for each in found.inputs if not _is_own(each, past))
        if found.comparable and not inputs and not found.of_states:
            return
        import msgspec  # noqa: PLC0415 - only what is refused

        from asyncstate.plans.words import difference_lines  # noqa: PLC0415 - as above

        shown = msgspec.structs.replace(found, inputs=inputs, moved=(), edges_added=(), edges_removed=())
        lines = [f"    {line.mark} {'  ' * line.depth}{line.text}" for line in difference_lines(shown)]
        if not found.comparable:
            lines.insert(0, "    the key of its digests (plan.key in the state directory) is another one")
        more = [f"    … and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
        raise ResumeRefused(
            "\n".join(
                [
                    f"run {entry.id} cannot be resumed, because its plan has changed:",
                    *islice(lines, _MOST_LINES),
                    *more,
                    "Undo that, or use --force (force=True): what is still the same is carried over, all else runs.",
                ]
            )
        )


def resumable(journal: Journal, run: str | None) -> RunEntry:
    """Return the run to resume. Raises JournalError if there is none, ResumeRefused if there is nothing to resume."""
    until = time.monotonic() + _DYING
    while (found := journal.find(run, real=True)).ending == UNDER_WAY and time.monotonic() < until:
        time.sleep(_LOOK)
        journal.look_again()
    if found.test:
        raise ResumeRefused(f"run {found.id} was a dry run: there is nothing to resume")
    if found.is_finished:
        raise ResumeRefused(f"run {found.id} came to its end: there is nothing to resume")
    if found.ending == UNDER_WAY:
        raise ResumeRefused(f"run {found.id} is still under way")
    later = next((entry for entry in journal.runs() if entry.resumes == found.id), None)
    if later is not None:
        raise ResumeRefused(f"run {found.id} was resumed as run {later.id}: resume that, which has the results of both")
    return found


def _is_own(change: InputChange, past: EarlierRuns) -> bool:
    """Whether an input differs because the run itself changed it: a grain that one of its states set."""
    if change.kind != "grains":
        return False
    began = [tag.split("_|-") for tag, _ in (*past.ended, *past.unknown) if tag.startswith("grains_|-")]
    return any(change.name == part.partition(":")[0] for parts in began for part in parts[1:3])
