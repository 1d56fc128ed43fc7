"""The report of a run from its recorded events alone: for replays, and for runs that were killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from asyncstate.errors import Issue
from asyncstate.journal.entry import FAILHARD, FINISHED
from asyncstate.model.event import ChunkFinished, ChunkStarted, RunFinished, RunStarted
from asyncstate.model.result import RUN_NUM, RunReport
from asyncstate.report.summary import describe_tag
from asyncstate.run.gate import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asyncstate.model.event import Event
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row


_INCOMPLETE = "The record of this run is incomplete: events are lost, and with them rows of states"
_RUNNING = frozenset(verdict.value for verdict in Verdict if verdict.runs)


def _unknown(tag: str) -> str:
    return f"{describe_tag(tag)} had started and not ended: what it did is unknown"


class RecordedReport:
    """Collects the events of a run, in order. Warnings keep their text only, and include notices."""

    def __init__(self) -> None:
        self.started: RunStarted | None = None
        self.finished: RunFinished | None = None
        self._begun: dict[str, None] = {}
        self._last = 0.0
        self._next = 0
        self._has_gap = False
        self._told: dict[str, Row] = {}
        self._subs: dict[str, dict[str, Row]] = {}

    def on_event(self, event: Event) -> None:
        """Keep the parts of an event that the report needs."""
        self._last = event.time
        self._has_gap |= event.seq > self._next
        self._next = event.seq + 1
        match event:
            case ChunkStarted(check=False):
                self._begun[event.tag] = None
            case RunStarted():
                self.started = event
            case ChunkFinished() if not (event.check and event.why in _RUNNING):
                self._told[event.tag] = event.row
                if event.sub_rows:
                    self._subs[event.tag] = event.sub_rows
            case RunFinished():
                self.finished = event

    @property
    def begun(self) -> bool:
        """Whether any event of the run was recorded."""
        return self.started is not None or bool(self._begun or self._told)

    def lacks_events(self, ending: str) -> bool:
        """Whether events of the run are lost: there is a gap, or no last event in spite of a regular ``ending``."""
        return self._has_gap or (self.finished is None and ending in {FINISHED, FAILHARD})

    def report(self, cut_short: str = "", planned: Iterable[str] = ()) -> RunReport:
        """Return the report.

        Without a `RunFinished`, it has the rows recorded so far, in order, and ``cut_short`` as the reason why the run
        was cancelled. ``planned`` are the tags of its states, from which the unstarted ones follow.
        """
        rows = self._rows()
        began, ended = self.started, self.finished
        texts = (*(began.warnings if began else ()), *(ended.warnings if ended else ()))
        lost = (_INCOMPLETE,) if self.lacks_events(cut_short) else ()
        if lost and ended is None:
            cut_short, planned = "its record has no end", ()
        return RunReport(
            rows=rows,
            not_started=ended.not_started if ended else tuple(tag for tag in planned if tag not in self._begun),
            handled=ended.handled if ended else (),
            warnings=tuple(map(Issue, texts)),
            notices=lost if ended else (*lost, *(_unknown(tag) for tag in self._begun if tag not in self._told)),
            races=ended.races if ended else (),
            test=began.test if began else False,
            concurrency=began.concurrency if began else 1,
            shuffle=began.shuffle if began else None,
            digest=began.digest if began else "",
            run_id=began.run_id if began else "",
            wall_ms=ended.wall_ms if ended else round(self._last * 1000, 3),
            busy_ms=round(sum(row["duration"] for row in rows.values() if isinstance(row.get("duration"), float)), 3),
            cancelled=ended.cancelled if ended else cut_short,
        )

    def completed(self, plan: Plan) -> Plan:
        """Return the plan of the run with the rows and warnings from its events, which the recorded plan lacks."""
        rows = self.finished.rows if self.finished else {}
        texts = self.started.warnings if self.started else ()
        return msgspec.structs.replace(plan, rows=rows, warnings=tuple(map(Issue, texts)))

    def _rows(self) -> dict[str, Row]:
        told: dict[str, Row] = {}
        for tag, row in self._told.items():
            told[tag] = row
            told.update(self._subs.get(tag, {}))
        if self.finished is not None:
            told.update(self.finished.rows)
            tags = list(told)
            if sorted(self.finished.order) == list(range(len(tags))):
                told = {tags[place]: told[tags[place]] for place in self.finished.order}
        return {tag: {**row, RUN_NUM: number} for number, (tag, row) in enumerate(told.items())}
