"""What the states of a run waited for, and how long: the recorded side of `explain`, told from events alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.model.event import decode_event
from asyncstate.model.plan import NodeKind
from asyncstate.report.profile import Profile
from asyncstate.report.summary import describe_tag
from asyncstate.report.terminal import PLAIN, Palette, one_line, short_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from asyncstate.model.plan import Plan
    from asyncstate.report.profile import Timing

SOURCES = {"stage": "explicit order", "footprint": "both touch the same thing", "group": "aggregation"}
"""Why one state waits for another, where no requisite says so."""

_VERDICTS = {
    "change": "It ran; something it watches had changed, so its mod_watch answered for it unless it changed itself.",
    "skip_watch": "It ran; its mod_watch was not called, the state it watches asked for that.",
    "listen": "Its mod_watch was called after everything else: something it listens to had changed.",
    "fail": "It failed without running: a requisite failed.",
    "onchanges": "It did not run: nothing that its onchanges names had changed.",
    "onfail": "It did not run: nothing that its onfail names had failed.",
    "pre": "It did not run: the state its prereq names would change nothing.",
    "skip_req": "It did not run: a state it requires asked for that.",
}
_LISTED = 12


def recorded(lines: Iterable[bytes]) -> Profile:
    """Read the events of a run, as ``--out jsonl`` writes them. Raises ValueError that names the first bad line."""
    profile = Profile()
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                profile.on_event(decode_event(line))
            except ValueError as error:
                raise ValueError(f"line {number} is no event of a run: {error}") from None
    return profile


def reason(because: Iterable[str]) -> str:
    """Say why an edge is there: its requisites, or what takes their place."""
    return ", ".join(SOURCES.get(source, source) for source in because)


def waits(plan: Plan, index: int, profile: Profile) -> dict[str, Any] | None:
    """Return what a run did with one state, None if it never got to it. Times are seconds since the run began.

    ``waited_for`` are all the states before it, the last to end first; the first of them is what released it.
    """
    timing = profile.timing(plan.chunks[index].tag)
    if timing is None or timing.started < 0:
        return None
    return {
        "verdict": timing.why,
        "held_back": timing.held_back,
        "ready": timing.ready,
        "started": timing.started,
        "ended": timing.ended if timing.ended >= 0 else None,
        "waited_for_a_place": round(timing.waited, 6),
        "after": timing.after,
        "because": list(timing.because),
        "waited_for": _waited_for(plan, index, profile),
    }


def _waited_for(plan: Plan, index: int, profile: Profile) -> list[dict[str, Any]]:
    found = []
    for tag, sources in _before(plan, index).items():
        timing = profile.timing(tag)
        if timing is not None and timing.ended >= 0 and "prereq" not in sources:
            found.append({"tag": tag, "because": list(sources), "ended": timing.ended})
    return sorted(found, key=lambda each: -each["ended"])


def _before(plan: Plan, index: int) -> dict[str, tuple[str, ...]]:
    """Return the states that one waits for directly and why, seen through sets, stages and groups."""
    found: dict[str, tuple[str, ...]] = {}
    seen: set[int] = set()
    stack = [(node, plan.dag.sources(node, index)) for node in plan.dag.predecessors(index)]
    while stack:
        node, sources = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if plan.nodes[node].kind in {NodeKind.CHUNK, NodeKind.CHECK}:
            found.setdefault(plan.chunks[plan.nodes[node].chunk].tag, sources)
        else:
            stack.extend((beyond, sources) for beyond in plan.dag.predecessors(node))
    return found


def wait_lines(plan: Plan, index: int, profile: Profile, palette: Palette = PLAIN) -> Iterator[str]:
    """Yield what a run did with one state, for people."""
    told = waits(plan, index, profile)
    timing = profile.timing(plan.chunks[index].tag)
    yield f"  {palette.paint(palette.yellow, 'In the recorded run')}"
    if told is None or timing is None:
        yield "    It was not started."
        return
    yield from (f"    {line}" for line in _story(timing))
    for number, each in enumerate(told["waited_for"][:_LISTED]):
        last = " — the last, which released it" if not number and each["tag"] == timing.after else ""
        ended = f"{describe_tag(each['tag'])} ended at {short_time(each['ended'])}"
        yield f"    - {ended} ({reason(each['because'])}){last}"
    if len(told["waited_for"]) > _LISTED:
        yield f"    and {len(told['waited_for']) - _LISTED} that ended before"


def run_lines(profile: Profile, palette: Palette = PLAIN) -> Iterator[str]:
    """Yield, for every state of a run in the order they started, why it ran when it did. Nothing if nothing ran."""
    finished = sorted(profile.finished, key=lambda timing: timing.started)
    if finished:
        yield palette.paint(palette.cyan, "Why each state ran when it did")
    for timing in finished:
        yield f"  {palette.paint(palette.bold, describe_tag(timing.tag))}"
        yield from (f"      {line}" for line in _story(timing))


def _story(timing: Timing) -> Iterator[str]:
    ran = f", ran {short_time(timing.seconds)}" if timing.ended >= 0 else ", did not end"
    turn = f", waited {short_time(timing.waited)} for a place" if timing.waited >= 0.001 else ""
    if timing.why == "listen":
        yield f"Waited {short_time(timing.started)}, for the end of everything else{ran}."
    elif timing.after:
        what = describe_tag(timing.after)
        what = f"the check of {what}" if "prereq" in timing.because else what
        why = f" ({reason(timing.because)})" if timing.because else ""
        yield f"Waited {short_time(timing.ready)}, last for {what}{why}{turn}{ran}."
    else:
        yield f"Waited for nothing{turn}{ran}."
    if timing.held_back:
        yield f"It did not run: {one_line(timing.held_back)}"
    elif timing.why in _VERDICTS:
        yield _VERDICTS[timing.why]
