"""Progress of a run on one host, counted from its events: the count behind all progress displays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.model.event import ChunkFinished, ChunkStarted, RunStarted
from asyncstate.model.forecast import Forecast
from asyncstate.model.result import changes_something, was_held_back
from asyncstate.report.summary import outcome_word

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.model.event import AnyEvent
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row


class RunTally:
    """Numbers of states by outcome, and the running states with their start times.

    ``total`` is the number of the run's states; it grows with each listener, because only the run shows which ones are
    called. In a ``dry`` run, none is changed yet. ``unsuccessful`` has the rows of failed and held-back states,
    ``held_back`` is the number of the latter.
    """

    def __init__(self, clock: Callable[[], float], plan: Callable[[], Plan | None] = lambda: None) -> None:
        self._clock = clock
        self._plan = plan
        self._rows: dict[str, Row] = {}
        self._forecast: Forecast | None = None
        self.total: int = 0
        self.dry: bool = False
        self.begun: bool = False
        self.done: int = 0
        self.changed: int = 0
        self.held_back: int = 0
        self.unsuccessful: dict[str, Row] = {}
        self.running: dict[str, float] = {}

    def start_anew(self) -> None:
        """Reset the counts for another attempt."""
        self.begun = True
        self.done = self.changed = self.held_back = 0
        self.unsuccessful.clear()
        self.running.clear()

    @property
    def failed(self) -> int:
        """Number of states that failed, without those held back."""
        return len(self.unsuccessful) - self.held_back

    def on_event(self, event: AnyEvent) -> None:
        """Update the counts with an event."""
        match event:
            case RunStarted():
                self.total, self.dry, self.begun = event.chunks, event.test, True
            case ChunkStarted():
                self.running[event.tag] = self._clock()
                self.total = max(self.total, self.done + len(self.running))
            case ChunkFinished():
                self.running.pop(event.tag, None)
                if not event.check:
                    self.ended(event.tag, event.row)

    def ended(self, tag: str, row: Row) -> None:
        """Count a state that ended."""
        if self.dry:
            self._rows[tag] = row
        self.done += 1
        self.total = max(self.total, self.done)
        if row["result"] is False:
            self.held_back += was_held_back(row)
            self.unsuccessful[tag] = row
        else:
            self.changed += changes_something(row, test=self.dry)

    def word(self, tag: str, row: Row) -> str:
        """Return the outcome of an ended state, or its forecast in a dry run, in the words of the report."""
        foretold = None
        if self.dry and row["result"] is None:
            if self._forecast is None and (plan := self._plan()):
                self._forecast = Forecast(self._rows, plan)
            foretold = self._forecast.of(tag) if self._forecast is not None else None
        return outcome_word(row, foretold, dry=self.dry)
