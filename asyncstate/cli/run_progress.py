"""How the progress of a run on this machine is shown: on a terminal, in lines, or not at all."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.cli.console import Console
    from asyncstate.cli.remaining_time import RemainingTime
    from asyncstate.config import Settings
    from asyncstate.model.plan import Plan
    from asyncstate.report.progress import LiveProgress, PlainProgress


class RunProgress(NamedTuple):
    """Two observers of a run, None for what is not wanted: the display, and what tells it how long the run takes."""

    display: LiveProgress | PlainProgress | None = None
    remaining: RemainingTime | None = None


def progress_of(
    console: Console, settings: Settings, options: dict[str, Any], plan: Callable[[], Plan | None]
) -> RunProgress:
    """Return the progress that the options ask for; ``plan`` returns the plan for display once there is one."""
    quiet = bool(options.get("quiet_ok"))
    wanted = console.fitting_progress(options.get("progress", "auto"), quiet=quiet)
    if wanted == "none":
        return RunProgress()
    from asyncstate.report.progress import LiveProgress, PlainProgress

    remaining = None
    if settings.journaled != "off":
        from asyncstate.cli.remaining_time import RemainingTime

        remaining = RemainingTime(settings)
    left: Callable[[], str] = str if remaining is None else remaining.text
    if wanted == "live":
        return RunProgress(LiveProgress(sys.stderr, left), remaining)
    return RunProgress(PlainProgress(sys.stderr, left, plan), remaining)
