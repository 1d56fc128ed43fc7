"""Recorder: the rows of one run. Each is recorded once, in one place, and does not change afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.model.chunk import fresh
from asyncstate.model.event import StateEvent
from asyncstate.run.rows import CarriedRow, sub_rows

if TYPE_CHECKING:
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row
    from asyncstate.run.announce import Announcer


class Recorder:
    """Collects rows: ``rows`` by state tag, and in ``subs`` the rows of sub-states by the tag of their state.

    These rows still contain secrets, which are hidden where rows are shown.
    """

    def __init__(self, plan: Plan, announcer: Announcer) -> None:
        self.rows: dict[str, Row] = {}
        self.subs: dict[str, dict[str, Row]] = {}
        self._plan = plan
        self._announcer = announcer

    def record(self, chunk: LowChunk, row: Row, why: str, *, check: bool = False, keep: bool = True) -> None:
        """Record the row of a chunk that ended and the rows of its sub-states, and send its events.

        ``keep=False`` only sends the events: a check's row is recorded only if the check skipped the chunk. Events get
        copies, so that an observer cannot change a row.
        """
        tag = chunk.tag
        if type(row) is CarriedRow:
            subs, row = row.sub_rows, dict(row)
        else:
            subs = self._sub_rows(chunk, row) if "sub_state_run" in row else {}
        if keep:
            self.rows[tag] = row
            if subs:
                self.subs[tag] = subs
        if self._announcer.heard:
            self._announcer.finished(chunk, tag, row, why, check=check, subs=subs)
            if "fire_event" in chunk.args:
                self._fire(chunk, row)

    def _sub_rows(self, chunk: LowChunk, row: Row) -> dict[str, Row]:
        subs = sub_rows(row, chunk.as_low(), (other.tag for other in self._plan.chunks))
        if chunk.args.get("no_log"):
            for tag in subs:
                self._announcer.shown.hush(tag, chunk.id)
        return subs

    def _fire(self, chunk: LowChunk, row: Row) -> None:
        """Send the event that ``fire_event`` requests, under the tag Salt would use."""
        wanted = chunk.args["fire_event"]
        if wanted is True or (isinstance(wanted, str) and wanted):
            shown = self._announcer.shown
            name = f"salt/state_result/{self._announcer.run_id}/{shown.state_event(chunk, wanted)}"
            self._announcer.emit(StateEvent, name=name, row=shown.row(chunk.tag, fresh(row)))
