"""The waiting of one state in a recorded run: all states directly before it, with the time when each ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.extras.analyse.reasons import reason, story_lines
from asyncstate.model.result import was_held_back
from asyncstate.model.walk import Walk
from asyncstate.report.blockers import Needs
from asyncstate.report.summary import describe_tag
from asyncstate.report.terminal import PLAIN, Palette, short_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.extras.analyse.profile import Profile, Timing
    from asyncstate.model.plan import Plan

_LISTED = 12


def waits(plan: Plan, index: int, profile: Profile) -> dict[str, Any] | None:
    """Return the history of one state in a run, None if the run did not reach it. Times are seconds since its start.

    ``unmet`` is the failure that held it back. ``waited_for`` are all the states directly before it, the last to end
    first: that one released it.
    """
    timing = profile.timing(plan.chunks[index].tag)
    if timing is None or timing.started < 0:
        return None
    return {
        "verdict": timing.why,
        "held_back": timing.held_back,
        "unmet": _unmet(plan, timing, profile),
        "ready": timing.ready,
        "started": timing.started,
        "ended": timing.ended if timing.ended >= 0 else None,
        "waited_for_a_place": round(timing.waited, 6),
        "after": timing.after,
        "because": list(timing.because),
        "resources": list(timing.resources),
        "waited_for": _waited_for(plan, index, profile),
    }


def _unmet(plan: Plan, timing: Timing, profile: Profile) -> str:
    """Return the failure that held a state back, "" if none did."""
    row = profile.unsuccessful.get(timing.tag)
    return Needs.of(plan).unmet(timing.tag, {"": profile.unsuccessful}) if row and was_held_back(row) else ""


def _waited_for(plan: Plan, index: int, profile: Profile) -> list[dict[str, Any]]:
    found = []
    for node, reason_ in Walk(plan).before(index).items():
        timing = profile.timing(plan.chunks[node].tag) if node < len(plan.chunks) else None
        if timing is not None and timing.ended >= 0:
            because, resources = list(reason_.sources), list(reason_.resources)
            found.append({"tag": timing.tag, "because": because, "resources": resources, "ended": timing.ended})
    return sorted(found, key=lambda each: -each["ended"])


def wait_lines(plan: Plan, index: int, profile: Profile, palette: Palette = PLAIN) -> Iterator[str]:
    """Yield the history of one state in a run as lines of text."""
    history = waits(plan, index, profile)
    timing = profile.timing(plan.chunks[index].tag)
    yield f"  {palette.paint(palette.yellow, 'In the recorded run')}"
    if history is None or timing is None:
        yield "    It was not started."
        return
    yield from (f"    {line}" for line in story_lines(timing, history["unmet"]))
    for number, each in enumerate(history["waited_for"][:_LISTED]):
        last = " — the last, which released it" if not number and each["tag"] == timing.after else ""
        ended = f"{describe_tag(each['tag'])} ended at {short_time(each['ended'])}"
        yield f"    - {ended} ({reason(each['because'], each['resources'])}){last}"
    if len(history["waited_for"]) > _LISTED:
        yield f"    and {len(history['waited_for']) - _LISTED} that ended before"
