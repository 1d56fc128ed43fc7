"""Progress of a search: one line that is redrawn in place on a terminal, else a line now and then."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from asyncstate.report.terminal import count, short_time

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from rich.live import Live
    from rich.table import Table

    from asyncstate.extras.proof.shake.search import Batch

_EVERY = 5.0
"""Seconds between two lines."""
_SELDOM = 30.0
"""As `_EVERY`, when the first minute is over."""
_QUIET = 0.3
"""Seconds before the display on a terminal appears."""


class Progress:
    """Shows a search by ``say``, or on the terminal ``stream``. ``width`` is the number of concurrent runs.

    Call `watch` for each batch of runs, `tick` several times a second, and `close` at the end.
    """

    def __init__(self, say: Callable[[str], None], width: int, stream: TextIO | None = None) -> None:
        self._say = say
        self._width = width
        self._stream = stream
        self._live: Live | None = None
        self._began = self._said = time.monotonic()
        self._one_run = 0.0
        self._batch: Batch | None = None
        self._total = self._ended = 0

    def ran_once(self) -> float:
        """Note that the first run has ended, and return its seconds: the others are expected to take as long."""
        self._one_run = time.monotonic() - self._began
        return self._one_run

    def watch(self, batch: Batch) -> None:
        """Note the runs that are made now."""
        self._batch, self._ended = batch, 0
        if not self._total and batch.left:
            self._total = batch.left
            self._line(f"{count(self._total, 'order')} to try{self._time_left()}")

    def tick(self, ended: int) -> None:
        """Show the progress; ``ended`` runs of the batch have ended."""
        self._ended = ended
        now = time.monotonic()
        if self._stream is not None:
            self._redraw(now)
        elif now - self._said > (_EVERY if now - self._began < 2 * _SELDOM else _SELDOM):
            self._line(self._stand())

    def close(self) -> None:
        """Remove the display from the terminal."""
        if self._live is not None:
            self._live.update("", refresh=False)
            self._live.stop()
            self._live = None

    @property
    def _tried(self) -> int:
        """The number of delays tried."""
        batch = self._batch
        if batch is None or not self._total:
            return 0
        running = len(batch.orders) - self._ended if batch.why == "delay" else 0
        return max(0, self._total - batch.left - running)

    def _stand(self) -> str:
        if self._batch is None:
            return f"the first run: {short_time(time.monotonic() - self._began)}"
        found = f", {count(len(self._batch.found), 'missing order')} found" if self._batch.found else ""
        narrows = "; there is a difference: looking for the two states" if self._batch.why == "narrow" else ""
        return f"{self._tried} of {count(self._total, 'order')} tried{found}{self._time_left()}{narrows}"

    def _time_left(self) -> str:
        left = (self._total - self._tried) * self._one_run / self._width
        return f", about {short_time(max(1, left))} left" if left else ""

    def _line(self, text: str) -> None:
        self._said = time.monotonic()
        if self._stream is None:
            self._say(text)

    def _redraw(self, now: float) -> None:
        if self._live is None:
            if now - self._began < _QUIET:
                return
            self._live = self._open()
        self._live.update(self._picture(now), refresh=True)

    def _open(self) -> Live:
        from rich.console import Console
        from rich.live import Live

        console = Console(file=self._stream, highlight=False, markup=False)
        live = Live(console=console, transient=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=True)
        live.start()
        return live

    def _picture(self, now: float) -> Table:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        line = Table.grid(padding=(0, 1))
        line.add_row(
            ProgressBar(total=max(self._total, 1), completed=self._tried, width=30),
            Text(short_time(now - self._began), style="dim"),
            Text(self._stand(), no_wrap=True, overflow="ellipsis"),
        )
        return line
