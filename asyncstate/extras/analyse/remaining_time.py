"""The remaining time on the progress display, estimated from past runs in the journal, in a thread."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from asyncstate.errors import AsyncStateError
from asyncstate.extras.analyse.remaining import Past, Remaining, past, source_text
from asyncstate.model.event import RunStarted
from asyncstate.process.descriptors import Thread
from asyncstate.run.recorder import Onlooker

if TYPE_CHECKING:
    from asyncstate.config import Settings
    from asyncstate.journal.entry import RunEntry
    from asyncstate.journal.store import Journal
    from asyncstate.model.event import Event
    from asyncstate.model.result import Row
    from asyncstate.plans.record import PlanRecord

_LOOKED_AT = 5
"""Number of past runs that are searched, newest first."""
_LARGEST = 20_000
"""Largest number of states in a plan with an estimate: for more it would take seconds from the run itself."""


class RemainingTime(Onlooker):
    """Estimates the remaining time of a run. The first call of `text` starts a thread that looks for a past run."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._remaining = Remaining()
        self._started: RunStarted | None = None
        self._reader: Thread | None = None

    def on_event(self, event: Event) -> None:
        """Follow the run."""
        if isinstance(event, RunStarted):
            self._started = event
        self._remaining.on_event(event)

    def began(self, tag: str) -> None:
        """Follow the run."""
        self._remaining.began(tag)

    def ended(self, tag: str, row: Row) -> bool:  # noqa: ARG002 - the interface of onlookers
        """Follow the run."""
        self._remaining.ended(tag)
        return True

    def text(self) -> str:
        """Return the remaining time and its source as text, "" while it is unknown."""
        if self._reader is None and self._started is not None:
            self._reader = Thread(target=self.learn, name="past runs", daemon=True)
            with suppress(RuntimeError):  # the remaining time stays unknown
                self._reader.start()
        return self._remaining.text()

    def learn(self) -> None:
        """Look for a past run of the same states. Without one, or without a journal, there is no estimate."""
        started = self._started
        if started is None or started.chunks > _LARGEST:
            return
        try:
            from asyncstate.cli.past_runs import journal_in

            journal = journal_in(self._settings)
            known = _known(journal, started)
        except (AsyncStateError, OSError):
            return
        if known is not None:
            self._remaining.learn(known)


def _known(journal: Journal, started: RunStarted) -> Past | None:
    """Return the estimate from the newest run that had enough of the same states; None without such a run."""
    own = journal.find(started.run_id)
    record = journal.plan(own.id)
    others = [entry for entry in journal.runs() if entry.id != own.id and entry.ended and entry.test == own.test]
    for entry in others[:_LOOKED_AT]:
        seconds = _seconds(journal, entry, own, record)
        from asyncstate.extras.analyse.simulate import Rules

        source = source_text(entry.begun, time.time())
        found = past(record.plan(), seconds, started.concurrency, Rules.of(record), source)
        if found is not None:
            return found
    return None


def _seconds(journal: Journal, entry: RunEntry, own: RunEntry, record: PlanRecord) -> dict[str, float]:
    """Return the durations of states in a past run, in seconds, by their tags in this run."""
    from asyncstate.extras.analyse.recording import recording

    before = record if entry.plan == own.plan else journal.plan(entry.id)
    times = recording(before.plan(), journal.events(entry.id), resumed=bool(entry.resumes))
    unknown = set(times.unknown)
    took = {chunk.digest: times.length(index) for index, chunk in enumerate(before.chunks) if index not in unknown}
    return {chunk.tag: took[chunk.digest] for chunk in record.chunks if chunk.digest in took}
