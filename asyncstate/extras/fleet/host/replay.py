"""Which offers a host takes: each run once, whoever sends it again, now or in a year.

A signature does not grow old, so a host remembers the runs it took. The list stays short: runs that are issued long
before the newest are dropped, and with them everything issued up to then is refused. Times are those of the operator's
clock, compared with each other. The clock of the host only bounds them, generously, since it may be wrong by hours:
that refuses what is old to a host that remembers nothing yet, and a time far ahead, after which nothing else would be
taken.
"""

from __future__ import annotations

from typing import Final

import msgspec

from asyncstate.errors import MessageRefused

CLOCKS_DIFFER: Final = 24 * 3600.0
"""Seconds that the clocks of operator and host may differ by, with the time an offer may wait for its host."""
KEPT: Final = 7 * 24 * 3600.0
"""Seconds before the newest run for which runs are remembered one by one."""
_UNITS: Final = (("hours", 3600), ("minutes", 60), ("s", 1))
MOST: Final = 10_000
"""How many runs are remembered one by one."""


class Taken(msgspec.Struct, frozen=True):
    """The runs a host took: when each was issued. Nothing that was issued at ``closed`` or before is taken any more.

    A host begins with the time of its enrolment as ``closed``.
    """

    runs: dict[str, float] = {}
    closed: float = 0.0


def take(taken: Taken, run: str, issued: float, now: float) -> Taken:
    """Return what is remembered once the host has taken a run; keep it on disk before the run begins.

    ``issued`` is the operator's time, ``now`` the host's, in seconds since 1970. Raises MessageRefused for a run that
    was taken before, or that may have been, and for times that cannot be.
    """
    if run in taken.runs:
        raise MessageRefused(f"run {run} was taken before: its offer was sent again")
    if not abs(issued - now) <= CLOCKS_DIFFER:  # a time that is no number is refused, too
        raise MessageRefused(
            f"run {run} was issued {_apart(issued, now, 'ago', 'ahead')} by the clock of this host. More than "
            f"{CLOCKS_DIFFER / 3600:.0f} hours are refused: set the clocks, or start the run anew."
        )
    if issued <= taken.closed:
        raise MessageRefused(
            f"run {run} was issued {_apart(issued, taken.closed, 'earlier', 'later')} than the enrolment of this host, "
            "or than runs that it no longer remembers, so it may be a repetition. Is the clock of the operator right?"
        )
    runs = {**taken.runs, run: issued}
    closed = max(taken.closed, max(runs.values()) - KEPT)
    if len(runs) > MOST:
        closed = max(closed, sorted(runs.values())[-MOST - 1])
    return Taken({each: time for each, time in runs.items() if time > closed}, closed)


def _apart(issued: float, other: float, before: str, after: str) -> str:
    seconds = abs(issued - other)
    unit, size = next((name, size) for name, size in _UNITS if seconds >= 2 * size or size == 1)
    return f"{seconds / size:.0f} {unit} {after if issued > other else before}"
