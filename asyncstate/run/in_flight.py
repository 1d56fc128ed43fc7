"""InFlight: the pieces of work that run now. Each leaves exactly one row.

The row is the return of the call; or one made here, because the call still runs after its time limit, was cancelled, or
was left behind. The first row counts: later ones are dropped.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from asyncstate.model.event import ChunkOutput
from asyncstate.model.plan import NodeKind
from asyncstate.model.result import Outcome
from asyncstate.run.rows import cancelled_row, exception_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.result import Row
    from asyncstate.run.machine import Machine, Work
    from asyncstate.run.recorder import Announcer, Recorder

_CHECK = NodeKind.CHECK
LONG = 10.0
"""Seconds after which a running chunk is reported, repeatedly, as long-running."""


class InFlight:
    """The running work of one run. ``check_ranks``: the rank of the check, for each chunk that its check skipped.

    ``overdue`` are the rows of the calls that still run after their time limit and the grace period, by node.
    """

    def __init__(
        self, machine: Machine, recorder: Recorder, announcer: Announcer, *, clock: Callable[[], float]
    ) -> None:
        self.check_ranks: dict[int, int] = {}
        self.overdue: dict[int, Row] = {}
        self._machine = machine
        self._recorder = recorder
        self._announcer = announcer
        self._clock = clock
        self._running: dict[int, tuple[Work, LowChunk, float]] = {}
        self._recorded: dict[int, Outcome] = {}

    @property
    def tags(self) -> list[str]:
        """The tags of the chunks that run now, without secrets."""
        return [self._announcer.shown.tag(chunk.tag) for _, chunk, _ in self._running.values()]

    def begin(self, work: Work, chunk: LowChunk) -> None:
        """Announce that a chunk starts, and start its clock."""
        self._announcer.started(chunk, check=work.kind is _CHECK)
        self._running[work.node] = (work, chunk, self._clock())

    def end(self, work: Work) -> bool:
        """Record that a chunk no longer runs. Return whether its call is overdue."""
        del self._running[work.node]
        return self.overdue.pop(work.node, None) is not None

    def raised(self, work: Work, error: BaseException) -> Row:
        """Return the row of a running chunk whose call raised."""
        _, chunk, began = self._running[work.node]
        return self._timed(exception_row(chunk.name, error), chunk, began)

    def cancelled(self, work: Work, reason: str) -> Row:
        """Return the row of a running chunk that was cancelled."""
        _, chunk, began = self._running[work.node]
        return self._timed(cancelled_row(chunk.name, reason or "its task was cancelled"), chunk, began)

    def record(self, work: Work, chunk: LowChunk, row: Row, *, cut_off: bool = False) -> Outcome:
        """Record the row of a piece of work, once, and return its outcome. Every row goes through here.

        Nothing is known of a check that was ``cut_off``: its chunk has not started.
        """
        outcome = self._recorded.pop(work.node, None)
        if outcome is not None:
            return outcome
        check = work.kind is _CHECK
        skipped = check and not work.verdict.runs and not cut_off
        if skipped:  # The prereq check skipped the chunk: this row is the chunk's, and failhard applies to it.
            self.check_ranks[chunk.index] = self._machine.plan.rank[work.node]
            if row["result"] is False:
                self._machine.fail_hard(work.node)
        why = work.verdict._value_  # `value` is two calls of Python for each state
        self._recorder.record(chunk, row, why, check=check, keep=skipped or not check)
        return Outcome.of(row)

    def overrun(self, work: Work, chunk: LowChunk, row: Row, *, final: bool) -> None:
        """Keep the row of a call that is overdue; record it if it is final. Later returns of the call are dropped."""
        self.overdue[work.node] = self._timed(row, chunk, self._running[work.node][2])
        if final:
            self._record_overdue(work, chunk)
            self._machine.fail_hard(work.node)

    def give_up(self) -> dict[int, Outcome]:
        """Record the rows of all calls that are overdue, and return their outcomes by node."""
        for node in self.overdue:
            work, chunk, _ = self._running[node]
            self._record_overdue(work, chunk)
        return {node: self._recorded[node] for node in self.overdue}

    def _record_overdue(self, work: Work, chunk: LowChunk) -> None:
        if work.node not in self._recorded:
            self._recorded[work.node] = self.record(work, chunk, self.overdue[work.node])

    def leave_behind(self, reason: str) -> list[str]:
        """Record rows for all calls that still run and are given up; return a notice for each."""
        notices = []
        for work, chunk, _ in list(self._running.values()):
            notices.append(f"{chunk.place} did not end when it was cancelled and was left behind")
            if work.node not in self._recorded:
                self._recorded[work.node] = self.record(work, chunk, self.cancelled(work, reason), cut_off=True)
        return notices

    def name_long_running(self) -> None:
        """Send an event for each chunk that runs for long."""
        now = self._clock()
        for work, chunk, since in list(self._running.values()):
            seconds = round(now - since, 1)
            if seconds >= LONG:
                left = "not waited for any longer, but " if work.node in self._recorded else ""
                text = f"{left}still running after {seconds:.0f} s"
                self._announcer.emit(ChunkOutput, tag=chunk.tag, text=text, seconds=seconds)

    def _timed(self, row: Row, chunk: LowChunk, began: float) -> Row:
        spent = self._clock() - began
        row["start_time"] = time.strftime("%H:%M:%S.000000", time.localtime(time.time() - spent))
        row["duration"] = round(spent * 1000, 3)
        row["__id__"], row["__sls__"] = chunk.id, chunk.sls or None
        return row
