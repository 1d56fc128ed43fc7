"""The profile of a run: the time before it, functions, the slowest states, the critical path, and idle slots."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

import msgspec

from asyncstate.model.event import (
    RENDER,
    ChunkFinished,
    ChunkReady,
    ChunkStarted,
    Phase,
    PrefetchEnded,
    PrefetchStarted,
    RunFinished,
    RunStarted,
    decode_event,
)
from asyncstate.model.result import seconds_of
from asyncstate.report.summary import describe_tag
from asyncstate.report.terminal import PLAIN, Palette, count, short_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from asyncstate.model.event import Event
    from asyncstate.model.result import Row

_CONDITIONS_CHECKED = frozenset({"met", "change", "skip_watch"})
_MOST_FUNCTIONS = 5
_MOST_RENDERED = 3
_MOST_STATES = 10
_MUCH = 0.2
"""The share of the whole time that makes a phase worth a look."""
_IDLE = 50.0
"""The share of the slots' time, in percent, below which a state that waits does not wait for other states to end."""
_HINTS = {
    "grains": "Look for slow grains of your own.",
    "pillar": "Look for slow pillar files and external pillars.",
    RENDER: "Look for slow calls in its template.",
}


class Timing(msgspec.Struct):
    """The times when a state was ready, began and ended, in seconds since the run began.

    ``after`` is the tag of the last state it waited for, ``because`` the sources of that edge, ``resources`` the
    common resources if a source is a footprint. ``why`` is the verdict of its requisites, ``held_back`` the comment
    of a state that its own conditions kept from running, ``own`` the duration in its row, in seconds.
    """

    tag: str
    after: str = ""
    because: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    why: str = ""
    held_back: str = ""
    ready: float = 0.0
    started: float = -1.0
    ended: float = -1.0
    own: float = -1.0

    @property
    def seconds(self) -> float:
        """The time with a slot, including the loading of its module."""
        return max(0.0, self.ended - self.started)

    @property
    def waited(self) -> float:
        """The time from ready to a slot."""
        return max(0.0, self.started - self.ready)


class Profile:
    """Collects the events of a run; complete when the run is over. The dry-run check of a prereq is not counted.

    ``process_start`` is the start of the process in seconds since the epoch, 0 if unknown.
    """

    def __init__(self, process_start: float = 0.0) -> None:
        self._process_start = process_start
        self._timings: dict[str, Timing] = {}
        self._last = ""
        self.wall: float = 0.0
        self.concurrency: int = 1
        self.digest: str = ""
        self.phases: tuple[Phase, ...] = ()
        """The work before the run; first ``start``, until the grains, if the start of the process is known."""
        self.began_at: float = 0.0
        """Start of the run, in seconds since the epoch; 0 if unknown."""
        self.ahead: int = 0
        """Number of successful prefetches."""
        self.ahead_seconds: float = 0.0
        """Total time of these, in seconds."""
        self.unsuccessful: dict[str, Row] = {}
        """The rows of failed and held-back states, by tag."""
        self._fetching: dict[tuple[str, str], float] = {}

    def on_event(self, event: Event) -> None:
        """Note the time of an event."""
        match event:
            case RunStarted():
                self.concurrency, self.digest, self.began_at = event.concurrency, event.digest, event.wall
                self.phases = (*self._start(event.phases), *event.phases)
            case ChunkReady(check=False):
                timing = self._of(event.tag)
                timing.ready, timing.after = event.time, event.after
                timing.because, timing.resources = event.because, event.resources
            case ChunkStarted(check=False):
                self._of(event.tag).started = event.time
            case ChunkFinished(check=False):
                self._finish(event)
            case PrefetchStarted():
                self._fetching[event.tag, event.what] = event.time
            case PrefetchEnded():
                began = self._fetching.pop((event.tag, event.what), event.time)
                if event.result == "fetched":
                    self.ahead += 1
                    self.ahead_seconds += event.time - began
            case RunFinished():
                self.wall = event.time

    def _start(self, phases: Sequence[Phase]) -> Iterator[Phase]:
        if phases and 0.0 < self._process_start <= phases[0].wall:
            yield Phase("start", "", self._process_start, phases[0].wall - self._process_start)

    def _finish(self, event: ChunkFinished) -> None:
        timing = self._of(event.tag)
        timing.ended = event.time
        timing.why = event.why
        if event.row["result"] is False:
            self.unsuccessful[event.tag] = event.row
        if timing.started >= 0 and (own := seconds_of(event.row)) > 0:
            timing.own = own
        if event.row.get("skip_watch") and event.why in _CONDITIONS_CHECKED:
            timing.held_back = str(event.row["comment"])
        if timing.started < 0:
            timing.started = event.time
        if event.why == "listen":  # listeners run last, one after the other
            timing.ready, timing.after = timing.started, self._last
        self._last = event.tag

    def timing(self, tag: str) -> Timing | None:
        """Return the timing of a state; None if no event named it."""
        return self._timings.get(tag)

    def _of(self, tag: str) -> Timing:
        timing = self._timings.get(tag)
        if timing is None:
            timing = self._timings[tag] = Timing(tag)
        return timing

    @property
    def finished(self) -> list[Timing]:
        """The states that ended, in the order in which they became ready."""
        return [timing for timing in self._timings.values() if timing.ended >= 0]

    def slowest(self, number: int = 10) -> list[Timing]:
        """Return the ``number`` states that ran longest, longest first."""
        return sorted(self.finished, key=lambda timing: (-timing.seconds, timing.started))[:number]

    def by_function(self) -> list[tuple[str, list[Timing]]]:
        """Return the states of each function, ``module.function``; the function that took the most time first."""
        found: dict[str, list[Timing]] = {}
        for timing in self.finished:
            found.setdefault(describe_tag(timing.tag).partition(": ")[0], []).append(timing)
        return sorted(found.items(), key=lambda item: -_total(item[1]))

    def critical_path(self) -> list[Timing]:
        """Return the chain of states that leads to the last end: each is the last one that its successor waited for."""
        done = {timing.tag: timing for timing in self.finished}
        if not done:
            return []
        at: Timing | None = max(done.values(), key=lambda timing: timing.ended)
        path: list[Timing] = []
        seen: set[str] = set()
        while at is not None and at.tag not in seen:
            seen.add(at.tag)
            path.append(at)
            at = done.get(at.after)
        return path[::-1]


def recorded(lines: Iterable[bytes]) -> Profile:
    """Read the events of a run, as written by ``--out jsonl``. Raises ValueError with the first bad line."""
    profile = Profile()
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                profile.on_event(decode_event(line))
            except ValueError as error:
                raise ValueError(f"line {number} is not an event of a run: {error}") from None
    return profile


def profile_lines(profile: Profile, palette: Palette = PLAIN) -> Iterator[str]:
    """Yield the profile as text; nothing if no state ran."""
    slowest = profile.slowest(_MOST_STATES)
    if not slowest:
        return
    wall = profile.wall or max(timing.ended for timing in profile.finished)
    before = sum(phase.seconds for phase in profile.phases if phase.what != RENDER)
    if profile.phases:
        yield palette.paint(palette.cyan, f"Before the run: {short_time(before)}")
        yield from _before(profile.phases)
        yield ""
    yield palette.paint(palette.cyan, "Functions")
    for function, timings in profile.by_function()[:_MOST_FUNCTIONS]:
        yield f"  {short_time(_total(timings)):>8}  {function}, {count(len(timings), 'state')}"
    yield ""
    yield palette.paint(palette.cyan, "Slowest states")
    yield from _table(slowest, wall)
    yield ""
    path = profile.critical_path()
    on_path = sum(timing.seconds for timing in path)
    waits = sum(timing.waited for timing in path)
    yield palette.paint(palette.cyan, f"Critical path: {short_time(on_path)} of {short_time(wall)} wall time")
    yield from _table(path, wall)
    yield ""
    if profile.ahead:
        took = short_time(profile.ahead_seconds)
        yield f"Fetched ahead: {count(profile.ahead, 'download')}, {took} beside the states."
    yield _advice(profile, wall, on_path, waits)
    yield from _costly(profile.phases, before + wall)


def _total(timings: Sequence[Timing]) -> float:
    return sum(timing.seconds for timing in timings)


def _before(phases: Sequence[Phase]) -> Iterator[str]:
    """Yield a line for the start, the grains, the pillar and the compilation, each with what it rendered."""
    for number, phase in enumerate(phases):
        if phase.what == RENDER:
            continue
        rendered = list(takewhile(lambda each: each.what == RENDER, phases[number + 1 :]))
        longest = sorted(rendered, key=lambda each: -each.seconds)[:_MOST_RENDERED]
        files = ", ".join(f"{each.name} {short_time(each.seconds)}" for each in longest)
        took = short_time(sum(each.seconds for each in rendered))
        of_it = f"; {took} to render {count(len(rendered), 'file')}: {files}" if rendered else ""
        yield f"  {short_time(phase.seconds):>8}  {phase.what}{of_it}"


def _table(timings: Sequence[Timing], wall: float) -> Iterator[str]:
    width = max((len(short_time(timing.seconds)) for timing in timings), default=0)
    for timing in timings:
        share = 100 * timing.seconds / wall if wall > 0 else 0.0
        waited = f"  (waited {short_time(timing.waited)} for a slot)" if timing.waited >= 0.01 else ""
        around = timing.seconds - timing.own
        if timing.own >= 0 and around >= 0.01 and around >= timing.own:
            waited += f"  ({short_time(timing.own)} in the state itself)"
        yield f"  {short_time(timing.seconds):>{max(width, 8)}} {share:3.0f} %  {describe_tag(timing.tag)}{waited}"


def _advice(profile: Profile, wall: float, on_path: float, waits: float) -> str:
    busy = sum(timing.seconds for timing in profile.finished)
    used = 100 * busy / (wall * profile.concurrency) if wall > 0 else 100.0
    slots = f"{count(profile.concurrency, 'slot')}, {min(used, 100.0):.0f} % used"
    if on_path >= 0.8 * wall:
        return f"{slots}. The critical path sets the time: more concurrency will not help, shortening it will."
    if waits < 0.2 * wall or len(profile.finished) <= profile.concurrency:
        return f"{slots}."
    if used < _IDLE:
        return (
            f"{slots}. Most slots were free, so more concurrency will not help: lanes and states that run alone take "
            "the time, or starting and recording short states."
        )
    return f"{slots}. States on the critical path waited {short_time(waits)} for a slot: try a larger --concurrency."


def _costly(phases: Sequence[Phase], whole: float) -> Iterator[str]:
    """Yield a line for the grains, the pillar, and each file whose rendering takes much of the whole time."""
    for phase in phases:
        if phase.what in _HINTS and phase.seconds >= _MUCH * whole:
            share = 100 * phase.seconds / whole
            yield f"{phase.name or phase.what}: {share:.0f} % of the whole time. {_HINTS[phase.what]}"
