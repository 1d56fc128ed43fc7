"""RunTracer: records what the states of a run touch, finds races, and keeps what the states were seen to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.errors import Issue
from asyncstate.extras.proof.trace.following import Strace, left_running
from asyncstate.extras.proof.trace.learning import Learning
from asyncstate.extras.proof.trace.report import find_races, race_issues
from asyncstate.extras.proof.trace.witness import Trace

if TYPE_CHECKING:
    from asyncstate.extras.proof.trace.learning import Parts
    from asyncstate.extras.proof.trace.report import Race
    from asyncstate.extras.proof.trace.witness import Witness
    from asyncstate.model.plan import Plan


class RunTracer:
    """A `Tracer` of one run. The program's own folders are left out, which no states share.

    Raises ConfigError if strace is missing or may not follow programs.
    """

    def __init__(self, plan: Plan, parts: Parts) -> None:
        self._plan = plan
        self._trace = Trace(Strace(), parts.own_folders)
        self._learning = Learning(plan, parts)

    def of(self, node: int) -> Witness:
        """Return the observer of the calls of a node."""
        return self._trace.of(node)

    def found(self, worked: set[int]) -> tuple[list[Race], list[Issue]]:
        """Return the races and other warnings, and keep what the states touched."""
        races = find_races(self._plan, *self._trace.seen_by_others())
        lost = self._learning.keep(self._trace, worked)
        return races, [*race_issues(races), *lost, *_still_followed()]


def _still_followed() -> list[Issue]:
    left = left_running()
    if not left:
        return []
    programs = "a program that a state started" if left == 1 else f"{left} programs that states started"
    return [
        Issue(
            f"strace still follows {programs} in the background",
            hint="restart daemons that are to stay: under strace they are slow, and end with it",
        )
    ]
