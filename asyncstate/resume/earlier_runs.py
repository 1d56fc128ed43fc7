"""The results of earlier runs of a plan, from their journal: states that ended, and states that were cut off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.journal.entry import is_event, read_event
from asyncstate.journal.store import Journal
from asyncstate.model.event import ChunkFinished, ChunkStarted, RunStarted
from asyncstate.model.result import wrong_in_row
from asyncstate.run.dispatch import SharedWork
from asyncstate.run.rows import was_cut_off

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from asyncstate.journal.entry import RunEntry
    from asyncstate.model.event import AnyEvent

Key = tuple[str, bool]
"""The shown tag of a state, and whether the record is of its check for a ``prereq``."""


class Ended(msgspec.Struct, frozen=True, tag_field="record", tag="ended"):
    """A state that ended in an earlier run: its row, the verdict of its requisites, the rows of its sub-states."""

    tag: str
    check: bool
    row: dict[str, Any]
    why: str
    sub_rows: dict[str, dict[str, Any]] = {}


class Unknown(msgspec.Struct, frozen=True, tag_field="record", tag="unknown"):
    """A state that started in an earlier run, at ``since`` (in seconds since the epoch), and was cut off."""

    tag: str
    check: bool
    since: float = 0.0


class EarlierRuns:
    """The results of earlier runs. ``run`` is the last of them."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.ended: dict[Key, Ended] = {}
        self.unknown: dict[Key, Unknown] = {}
        self.shared: dict[str, SharedWork] = {}

    @classmethod
    def of(cls, run: str, lines: Iterable[bytes]) -> EarlierRuns:
        """Read the lines of a run: its results, after those that it carried over from runs before it."""
        past, wall = cls(run), 0.0
        for line in lines:
            if not is_event(line):
                past._carried(line)
                continue
            event = read_event(line)
            if isinstance(event, RunStarted):
                wall = event.wall
            elif isinstance(event, ChunkStarted):
                key = (event.tag, event.check)
                if key not in past.ended:
                    past.unknown[key] = Unknown(event.tag, event.check, wall + event.time)
            elif isinstance(event, ChunkFinished):
                past._finished(event, wall)
        return past

    def _carried(self, line: bytes) -> None:
        try:
            record = msgspec.json.decode(line, type=Ended | Unknown | SharedWork)
        except (msgspec.MsgspecError, UnicodeError):
            return
        if isinstance(record, SharedWork):
            self.shared[record.tag] = record
        elif isinstance(record, Ended):
            if not any(map(wrong_in_row, (record.row, *record.sub_rows.values()))):
                self.ended[record.tag, record.check] = record
        else:
            self.unknown[record.tag, record.check] = record

    def _finished(self, event: ChunkFinished, wall: float) -> None:
        key = (event.tag, event.check)
        if was_cut_off(event.row):
            self.unknown[key] = self.unknown.get(key) or Unknown(event.tag, event.check, wall + event.time)
            return
        self.unknown.pop(key, None)
        self.ended[key] = Ended(event.tag, event.check, event.row, event.why, event.sub_rows)

    def keep(self, tag_holds: Callable[[str], bool]) -> None:
        """Drop the records of states for which ``tag_holds`` is false."""
        self.ended = {key: each for key, each in self.ended.items() if tag_holds(key[0])}
        self.unknown = {key: each for key, each in self.unknown.items() if tag_holds(key[0])}
        self.shared = {tag: each for tag, each in self.shared.items() if tag_holds(tag)}

    def forget_failed(self, tags: Collection[str]) -> None:
        """Drop the failures of these states, which stopped the run, so that they are tried again."""
        self.ended = {
            key: each for key, each in self.ended.items() if key[0] not in tags or each.row.get("result") is not False
        }

    def records(self) -> list[Ended | Unknown | SharedWork]:
        """Return everything as records, for the start of the log of the run that resumes this one."""
        return [*self.ended.values(), *self.unknown.values(), *self.shared.values()]


class PastRun:
    """A run that the journal of this machine has. ``is_under_way``: it has not ended, and its program is alive.

    ``is_finished``: it came to its end.
    """

    def __init__(self, journal: Journal, entry: RunEntry) -> None:
        self.id: str = entry.id
        self.is_under_way: bool = entry.ended is None
        self.is_finished: bool = entry.is_finished
        self._journal = journal

    @classmethod
    def about(cls, state_dir: str, key: str, value: object) -> PastRun | None:
        """Return the newest run whose ``about`` has this value, None if there is none. Blocks."""
        journal = Journal.open(state_dir)
        return next((cls(journal, entry) for entry in journal.runs() if entry.about.get(key) == value), None)

    def events(self) -> list[AnyEvent]:
        """Return its events."""
        return list(self._journal.events(self.id))

    def has_unknown(self) -> bool:
        """Whether a state was cut off, so that its result is not known."""
        return bool(EarlierRuns.of(self.id, self._journal.lines(self.id)).unknown)
