"""The progress display of a run: live on a terminal, plain lines, or none; and its end by signals."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from asyncstate.cli.event_loop import ended_by_signals
from asyncstate.guard.event_loop import Timer
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from asyncstate.cli.console import Console
    from asyncstate.cli.event_loop import Ending, Stoppable
    from asyncstate.config import Settings
    from asyncstate.model.plan import Plan
    from asyncstate.report.progress import LiveProgress, PlainProgress
    from asyncstate.run.recorder import Onlooker

_TICK = 0.125
"""Seconds between two updates of a display."""


class Display(Protocol):
    """A display of progress."""

    def tick(self) -> None:
        """Show the current progress."""

    def close(self) -> None:
        """Remove the display."""


@contextmanager
def followed(run: Stoppable, display: Display | None, console: Console, settings: Settings) -> Iterator[Ending]:
    """Update the display of a run while the block lasts, and let signals stop and cancel it (see `Ending`).

    The display is removed at the end.
    """
    with ended_by_signals(run, console.say, settings.grace_seconds) as ending:
        if display is None:
            yield ending
            return
        try:
            with Timer(_TICK, display.tick, repeat=True):
                yield ending
        finally:
            display.close()


class RunProgress(Value):
    """Two observers of a run, each None if not wanted: the display, and the estimate of the remaining time."""

    display: LiveProgress | PlainProgress | None = None
    remaining: Onlooker | None = None


def progress_of(
    console: Console, settings: Settings, options: dict[str, Any], plan: Callable[[], Plan | None]
) -> RunProgress:
    """Return the progress that the options request; ``plan`` returns the plan for display once it exists."""
    quiet = bool(options.get("quiet_ok"))
    wanted = console.fitting_progress(options.get("progress", "auto"), quiet=quiet)
    if wanted == "none":
        return RunProgress()
    from asyncstate.report.progress import LiveProgress, PlainProgress

    remaining = None
    if settings.journaled != "off":
        from asyncstate import extend

        estimate = extend.offered("remaining")
        remaining = None if estimate is None else estimate(settings)
    left: Callable[[], str] = str if remaining is None else remaining.text
    if wanted == "live":
        return RunProgress(LiveProgress(sys.stderr, left, plan), remaining)
    return RunProgress(PlainProgress(sys.stderr, left, plan), remaining)
