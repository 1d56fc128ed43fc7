"""Progress of a run: a live display on a terminal, or plain lines."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING, TextIO

from asyncstate.model.event import (
    ChunkFinished,
    ChunkOutput,
    ChunkRetried,
    ChunkStarted,
    PrefetchEnded,
    PrefetchStarted,
    RunStarted,
)
from asyncstate.model.forecast import Forecast
from asyncstate.model.result import changes_something, was_held_back
from asyncstate.report.blockers import Needs
from asyncstate.report.summary import describe_tag, outcome_word
from asyncstate.report.terminal import clean, count, one_line, short_time
from asyncstate.run.recorder import Onlooker

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console, Group
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    from asyncstate.model.event import AnyEvent
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row

_SHOWN = 8
"""Number of running states with a line of their own."""
_FAILED = 5
"""Number of failed states, the last ones, with a line in a live display."""
_ENDED = 3
"""Number of changed states, the last ones, with a line in a live display."""
_LONG = 10.0
"""Seconds after which a running state is highlighted, and the remaining time of a run is worth a line."""
_AGAIN = 30.0
"""Seconds from one line about the remaining time to the next."""
_SLOW = 1000.0
"""Milliseconds after which a state gets a line even if it changed nothing."""
_BAR = 30
"""Columns of a progress bar, at most."""
_QUIET = 0.3
"""Seconds before the display appears: quick runs do not pay its start-up time."""


class RunTally:
    """The count behind all progress displays: states by outcome, and the running ones with their start times.

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


class PlainProgress(Onlooker):
    """Lines on ``stream``: one for each state that changed something, failed or took long, and for long-running ones.

    Quick, unchanged states are only counted: a line for each would take a quarter of the processor time of a run with
    10,000 of them, and the report has them. ``left`` returns the remaining time as text, "" if unknown, for the lines
    of `tick`. ``plan`` returns the plan, for the reasons why states are held back and the forecast of a dry run.
    """

    def __init__(
        self,
        stream: TextIO,
        left: Callable[[], str] = str,
        plan: Callable[[], Plan | None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._left = left
        self._plan = plan
        self._needs: Needs | None = None
        self._clock = clock
        self._said = self._spoke = float("inf")
        self._tally = RunTally(clock, plan)

    def ended(self, tag: str, row: Row) -> bool:
        """Count a quick, unchanged state; return whether it was one."""
        if not _is_usual(row):
            return False
        self._tally.ended(tag, row)
        return True

    def on_event(self, event: AnyEvent) -> None:
        """Print the event in one line, if it has one."""
        self._tally.on_event(event)
        match event:
            case RunStarted():
                self._spoke = self._clock()
                self._said = self._spoke + _LONG - _AGAIN
            case ChunkFinished(check=False) if not _is_usual(event.row):
                word = self._tally.word(event.tag, event.row)
                self._say(f"{word:<9} {describe_tag(event.tag)}{self._more(event.tag, event.row)}")
            case ChunkRetried():
                wait = short_time(event.interval)
                self._say(f"retry     {describe_tag(event.tag)}: attempt {event.attempt} failed, again in {wait}")
            case ChunkOutput(seconds=seconds) if seconds:
                self._say(f"running   {describe_tag(event.tag)} (for {short_time(seconds)})")
            case ChunkOutput():
                self._say(f"note      {describe_tag(event.tag)}: {clean(event.text)}")

    def _more(self, tag: str, row: Row) -> str:
        """Return the duration of a state, or the reason why it was held back."""
        if was_held_back(row):
            why = self._unmet(tag) or one_line(str(row["comment"]))
            return f": {why}" if why else ""
        duration = row.get("duration")
        return f" ({short_time(duration / 1000)})" if isinstance(duration, (int, float)) else ""

    def _unmet(self, tag: str) -> str:
        if self._needs is None:
            plan = self._plan()
            self._needs = Needs([], []) if plan is None else Needs.of(plan)
        return self._needs.unmet(tag, {"": self._tally.unsuccessful})

    def _say(self, text: str) -> None:
        done, total = self._tally.done, self._tally.total
        self._spoke = self._clock()
        print(f"[{done:>{len(str(total))}}/{total}] {text}", file=self._stream, flush=True)

    def tick(self) -> None:
        """Print the remaining time: after `_LONG` seconds of the run, then every `_AGAIN` seconds.

        A quick run is spared the estimate, which reads the journal. Without an estimate, after `_LONG` seconds without
        a line, prints the number of ended states.
        """
        now = self._clock()
        if self._tally.done >= self._tally.total:
            return
        if now - self._said >= _AGAIN and (left := self._left()):
            self._said = now
            self._say(f"time      {left}")
        elif now - self._spoke >= _LONG:
            self._say(f"ended     {count(self._tally.done, 'state')}")

    def close(self) -> None:
        """Do nothing: the stream stays open."""


def _is_usual(row: Row) -> bool:
    """Whether a state succeeded quickly, without changes and warnings."""
    if row["result"] is not True or row["changes"] or row.get("warnings"):
        return False
    duration = row.get("duration")
    return not isinstance(duration, (int, float)) or duration < _SLOW


class LiveDisplay(ABC):
    """A display that is redrawn in place during an activity, and removed at its end.

    rich is imported after `_QUIET` seconds, so a quick activity never pays for it. Call `tick` a few times a second,
    from the thread that changes the data shown.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._began = time.monotonic()
        self._live: Live | None = None

    def tick(self) -> None:
        """Draw the display, unless the activity has lasted less than `_QUIET` seconds."""
        if self._live is None:
            if time.monotonic() - self._began < _QUIET:
                return
            self._live = self._open()
        self._live.update(self._picture(), refresh=True)

    def close(self) -> None:
        """Remove the display."""
        if self._live is not None:
            self._live.update("", refresh=False)
            self._live.stop()
            self._live = None

    def _open(self) -> Live:
        from rich.console import Console  # noqa: PLC0415 - 40 ms that a quick run does not need
        from rich.live import Live  # noqa: PLC0415

        console: Console = Console(file=self._stream, highlight=False, markup=False)
        live = Live(console=console, transient=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=True)
        live.start()
        return live

    def _head(self, done: int, total: int, words: str, *, failed: bool = False) -> Table:
        """Return a bar, words and the elapsed time in one line; on a narrow terminal, the bar is short.

        With ``failed``, the bar is red.
        """
        from rich.progress_bar import ProgressBar  # noqa: PLC0415 - as above
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        head = Table.grid(padding=(0, 1))
        head.add_column(max_width=_BAR)
        head.add_column(no_wrap=True, overflow="ellipsis")
        head.add_column(no_wrap=True)
        took = short_time(time.monotonic() - self._began)
        colour = "red" if failed else "green"
        bar = ProgressBar(total=max(total, 1), completed=done, complete_style=colour, finished_style=colour)
        head.add_row(bar, Text(words), Text(took, style="dim"))
        return head

    @abstractmethod
    def _picture(self) -> Group:
        """Return the content of the display."""


class LiveProgress(LiveDisplay):
    """A progress bar, the last failed and changed states, and the running states with their times.

    It is removed at the end: the report names each state once.

    ``left`` returns the remaining time as text, "" if unknown.
    """

    def __init__(
        self, stream: TextIO, left: Callable[[], str] = str, plan: Callable[[], Plan | None] = lambda: None
    ) -> None:
        super().__init__(stream)
        self._left = left
        self._fetching = 0
        self._tally = RunTally(time.monotonic, plan)
        self._failed: deque[str] = deque(maxlen=_FAILED)
        self._ended: deque[tuple[str, Row]] = deque(maxlen=_ENDED)

    def on_event(self, event: AnyEvent) -> None:
        """Update the display with an event."""
        self._tally.on_event(event)
        match event:
            case RunStarted():
                self._began = time.monotonic()
            case ChunkFinished(check=False, row=row) if row["result"] is False:
                if not was_held_back(row):
                    self._failed.append(event.tag)
            case ChunkFinished(check=False) if not _is_usual(event.row):
                self._ended.append((event.tag, event.row))
            case PrefetchStarted():
                self._fetching += 1
            case PrefetchEnded():
                self._fetching -= 1

    def _picture(self) -> Group:
        from rich.console import Group  # noqa: PLC0415 - as above
        from rich.text import Text  # noqa: PLC0415

        now, tally = time.monotonic(), self._tally
        numbers = {
            "failed": tally.failed,
            "held back": tally.held_back,
            "running": len(tally.running),
            "fetching ahead": self._fetching,
        }
        told = "".join(f", {number} {word}" for word, number in numbers.items() if number)
        so_far = f"{tally.done}/{count(tally.total, 'state')}{told}" if tally.begun else "starting"
        oldest = sorted(tally.running.items(), key=lambda item: item[1])
        width = max((len(short_time(now - since)) for _, since in oldest[:_SHOWN]), default=0)
        lines = [self._line(f"failed     {describe_tag(tag)}", "red") for tag in self._failed]
        lines += [self._line(f"{tally.word(tag, row):<9}  {describe_tag(tag)}", "dim") for tag, row in self._ended]
        lines += [
            Text(
                f"  {short_time(now - since):>{width}}  {describe_tag(tag)}",
                style="yellow" if now - since >= _LONG else "",
                no_wrap=True,
                overflow="ellipsis",
            )
            for tag, since in oldest[:_SHOWN]
        ]
        if len(oldest) > _SHOWN:
            lines.append(Text(f"           … and {len(oldest) - _SHOWN} more", style="dim"))
        if tally.done < tally.total and (left := self._left()):
            lines.append(self._line(left, "dim"))
        return Group(self._head(tally.done, tally.total, so_far, failed=bool(tally.failed)), *lines)

    @staticmethod
    def _line(text: str, style: str) -> Text:
        from rich.text import Text  # noqa: PLC0415 - as above

        return Text(f"  {text}", style=style, no_wrap=True, overflow="ellipsis")
