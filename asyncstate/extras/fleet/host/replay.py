"""Protection from replayed offers: a host takes each run once, whoever sends it again, now or in a year.

A signature does not expire, so a host remembers the runs it took. The list stays short: runs issued long before the
newest are dropped, and every offer issued up to then is refused. Times are by the operator's clock, and compared with
each other. The clock of the host only bounds them, generously, since it may be wrong by hours: this refuses old offers
on a host that remembers nothing yet, and a time far ahead, after which no other offer would be taken.
"""

from __future__ import annotations

from typing import Final

import msgspec

from asyncstate.extras.fleet.errors import MessageRefused

CLOCKS_DIFFER: Final = 24 * 3600.0
"""Seconds by which the clocks of operator and host may differ, plus the time that an offer may wait for its host."""
KEPT: Final = 7 * 24 * 3600.0
"""Seconds before the newest run for which runs are remembered one by one."""
_UNITS: Final = (("hours", 3600), ("minutes", 60), ("s", 1))
MOST: Final = 10_000
"""The number of runs that are remembered one by one."""


class Taken(msgspec.Struct, frozen=True):
    """The runs a host took, with their times of issue. Offers issued at ``closed`` or before are refused.

    A host begins with the time of its enrolment as ``closed``.
    """

    runs: dict[str, float] = {}
    closed: float = 0.0


def take(taken: Taken, run: str, issued: float, now: float) -> Taken:
    """Return the memory after the host has taken a run. The caller stores it on disk before the run begins.

    ``issued`` is the operator's time, ``now`` the host's, in seconds since 1970. Raises MessageRefused for a run that
    was, or may have been, taken before, and for impossible times.
    """
    if run in taken.runs:
        raise MessageRefused(f"run {run} was taken before: its offer was sent again")
    if not abs(issued - now) <= CLOCKS_DIFFER:  # refuses NaN, too
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
