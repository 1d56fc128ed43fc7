"""The waits of a run's states, with reasons and durations, from its events."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from asyncstate.model.dag import FOOTPRINT
from asyncstate.report.summary import describe_tag
from asyncstate.report.terminal import PLAIN, Palette, one_line, short_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from asyncstate.extras.analyse.profile import Profile, Timing

_SOURCES = {"stage": "explicit order", "file": "the order of the file", "group": "aggregation"}
"""Reasons why one state waits for another without a requisite."""

_NAMED = 3
"""Number of an edge's resources that are named; the rest is only counted."""

_VERDICTS = {
    "change": "It ran. A state it watches had changes, so its mod_watch was called unless it made changes itself.",
    "skip_watch": "It ran. Its mod_watch was not called, because a state it watches returned skip_req.",
    "listen": "Its mod_watch was called after all other states: a state it listens to had changes.",
    "fail": "It was held back: a requisite failed.",
    "onchanges": "It did not run: no state that its onchanges names had changes.",
    "onfail": "It did not run: no state that its onfail names had failed.",
    "pre": "It did not run: the state that its prereq names would change nothing.",
    "skip_req": "It did not run: a state that its onchanges or prereq names returned skip_req.",
}

_NOT_RUN = frozenset({"fail", "onchanges", "onfail", "pre", "skip_req"})
"""Verdicts after which a state is not called."""


def reason(because: Iterable[str], resources: Sequence[str] = ()) -> str:
    """Return the reason for an edge: its requisites, explicit order, aggregation, or common resources."""
    return ", ".join(
        both_touch(resources) if source == FOOTPRINT else _SOURCES.get(source, source) for source in because
    )


def both_touch(resources: Sequence[str]) -> str:
    """Return the resources that order two states without a requisite, as text. Older recordings have none."""
    more = f" and {len(resources) - _NAMED} more" if len(resources) > _NAMED else ""
    return f"both touch {', '.join(resources[:_NAMED]) or 'the same thing'}{more}"


def run_lines(
    profile: Profile, palette: Palette = PLAIN, held: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """Yield the reason for the start time of each state of a run, in the order of their starts.

    ``held`` has the requisite that held a state back, by tag (`asyncstate.report.blockers`).
    """
    finished = sorted(profile.finished, key=lambda timing: timing.started)
    if finished:
        yield palette.paint(palette.cyan, "Why each state ran when it did")
    for timing in finished:
        yield f"  {palette.paint(palette.bold, describe_tag(timing.tag))}"
        yield from (f"      {line}" for line in story_lines(timing, held.get(timing.tag, "")))


def story_lines(timing: Timing, held: str = "") -> Iterator[str]:
    """Yield the wait of a state, its reason and the outcome; for a ``held`` back state, the reason for that."""
    if timing.why in _NOT_RUN:
        ran = ""
    else:
        ran = f", ran {short_time(timing.seconds)}" if timing.ended >= 0 else ", did not end"
    turn = f", waited {short_time(timing.waited)} for a slot" if timing.waited >= 0.001 else ""
    if timing.why == "listen":
        yield f"Waited {short_time(timing.started)} for the end of all other states{ran}."
    elif timing.after:
        what = describe_tag(timing.after)
        what = f"the check of {what}" if "prereq" in timing.because else what
        why = f" ({reason(timing.because, timing.resources)})" if timing.because else ""
        yield f"Waited {short_time(timing.ready)}, last for {what}{why}{turn}{ran}."
    else:
        yield f"Waited for nothing{turn}{ran}."
    if timing.held_back:
        yield f"It did not run: {one_line(timing.held_back)}"
    elif held:
        yield f"It was held back: it {held}."
    elif timing.why in _VERDICTS:
        yield _VERDICTS[timing.why]
