"""Recorder: the rows of one run, and the report made from them. Each row is recorded once, and never changes."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any

from asyncstate.model.chunk import fresh
from asyncstate.model.event import StateEvent
from asyncstate.model.requisite import RequisiteKind
from asyncstate.model.result import STATE_RAN, RunReport
from asyncstate.run.rows import CarriedRow, number_rows, sub_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

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

    def report(
        self, check_ranks: Mapping[int, int], not_started: list[int], *, cut_short: bool, **fields: Any
    ) -> RunReport:
        """Number the rows and return the report of the run. ``not_started`` are the nodes that were not started.

        ``check_ranks`` is the rank of the prereq check of each chunk that its check skipped. ``fields`` are the other
        fields of the report.
        """
        plan = self._plan
        broken = {} if cut_short else _broken_listeners(plan, self.rows)
        rows = number_rows(plan, {**self.rows, **broken}, self.subs, check_ranks)
        tags = dict.fromkeys(plan.chunk_of(node).tag for node in not_started)
        return RunReport(
            rows=rows,
            not_started=tuple(tag for tag in tags if tag not in rows),
            handled=_handled_failures(plan, self.rows),
            digest=plan.digest,
            busy_ms=round(sum(row["duration"] for row in rows.values() if isinstance(row.get("duration"), float)), 3),
            **fields,
        )

    def untold(self, report: RunReport) -> tuple[dict[str, Row], tuple[int, ...]]:
        """Return the rows of a report that its events do not contain, and `RunFinished.order`."""
        rows, subs = self.rows, self.subs
        tags = [tag for parent in rows for tag in (parent, *subs.get(parent, ()))] if subs else list(rows)
        once = {tag for tag, times in Counter(tags).items() if times == 1} if subs else rows.keys()
        others = {tag: row for tag, row in report.rows.items() if tag not in once or tag in self._plan.rows}
        place = dict(zip(dict.fromkeys((*tags, *others)), count(), strict=False))
        order = tuple(map(place.__getitem__, report.rows))
        return others, () if order == tuple(range(len(order))) else order


def _broken_listeners(plan: Plan, rows: Mapping[str, Row]) -> dict[str, Row]:
    """Return the rows of missing listeners that would have been called."""
    return {
        listener.tag: dict(listener.row)
        for listener in plan.broken_listeners
        if any(rows.get(plan.chunks[target].tag, _UNCHANGED)["changes"] for target in listener.targets)
    }


_UNCHANGED: Row = {"changes": {}}


def _handled_failures(plan: Plan, rows: Mapping[str, Row]) -> tuple[str, ...]:
    """Return the tags of failures with ``onfail_stop: false`` handlers that all ran and succeeded."""
    verdicts: dict[str, list[bool]] = {}
    for chunk in plan.chunks:
        if chunk.args.get("onfail_stop") is not False:
            continue
        row = rows.get(chunk.tag)
        good = row is not None and row["result"] is True and row.get(STATE_RAN, True)
        for requisite in plan.requisites[chunk.index]:
            if requisite.kind.family is not RequisiteKind.ONFAIL:
                continue
            for node in plan.nodes[requisite.node].members or (requisite.node,):
                if plan.nodes[node].chunk >= 0:
                    verdicts.setdefault(plan.chunks[plan.nodes[node].chunk].tag, []).append(bool(good))
    return tuple(tag for tag, goods in verdicts.items() if all(goods) and tag in rows and rows[tag]["result"] is False)
