"""What two states both touch: the reason of a footprint edge, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.compile.effects.footprint import Footprints
from asyncstate.compile.effects.scoreboard import Scoreboard
from asyncstate.compile.findings import Findings
from asyncstate.sources.real_paths import RealPaths

if TYPE_CHECKING:
    from asyncstate.compile.effects.footprint import FootprintSource
    from asyncstate.model.plan import Plan


class SharedNames:
    """Asks state modules again what states touch: use it where plugins run. ``mode`` is ``implicit_order``."""

    def __init__(self, plan: Plan, states: FootprintSource, mode: str) -> None:
        self._chunks = plan.chunks
        self._footprints = Footprints(states, mode, Findings(), RealPaths())

    def between(self, before: int, after: int) -> list[str]:
        """Return what ``after`` has to wait for ``before`` for, as ``after`` names it.

        Empty for members of an aggregate group that touch nothing in common but what others of the group do.
        """
        earlier, later = (self._footprints.of(self._chunks[index]) for index in (before, after))
        found = []
        for name in dict.fromkeys(later.everything()):
            board = Scoreboard(min)
            board.touch(0, earlier.reads, earlier.writes, earlier.makes)
            one = [[name] if name in names else [] for names in (later.reads, later.writes, later.makes)]
            if board.touch(1, *one):
                found.append(name)
        return found
