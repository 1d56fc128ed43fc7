"""what-if: the duration of a recorded run with other numbers of slots."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.extras.analyse.simulate import Rules, longest_path, simulate
from asyncstate.model.plan import NodeKind
from asyncstate.report.summary import describe_tag
from asyncstate.report.terminal import PLAIN, Palette, count, short_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from asyncstate.extras.analyse.recording import Recording
    from asyncstate.model.plan import Plan

_NODES = 2_000_000
"""Approximate number of nodes in all simulations together; each takes ten microseconds."""
_FEWEST_POINTS = 8
_NOTABLE = 0.001
"""Difference in seconds that makes a run notably slower."""
_LISTED = 10


class Point(msgspec.Struct, frozen=True):
    """The seconds of the run with a number of slots, the speed-up over one slot, and the lower bound of any run."""

    slots: int
    seconds: float
    speedup: float
    bound: float


class Link(msgspec.Struct, frozen=True):
    """One node of the longest path: its label and its seconds."""

    label: str
    seconds: float


class WhatIf(msgspec.Struct, frozen=True):
    """The answer. ``wall`` are the seconds of the run, ``simulated`` the seconds of its simulation with its ``slots``.

    ``unknown`` is the number of states that never ended in the run and count as no time. ``skipped`` is the number of
    requested slot numbers without a point, because the run is large.
    """

    states: int
    unknown: int
    slots: int
    wall: float
    simulated: float
    work: float
    path: float
    links: tuple[Link, ...]
    points: tuple[Point, ...]
    skipped: int = 0

    @property
    def enough(self) -> Point:
        """The fewest slots that are within 5 % of the best."""
        best = min(point.seconds for point in self.points)
        return next(point for point in self.points if point.seconds <= best * 1.05 + _NOTABLE)


def what_if(plan: Plan, recording: Recording, slots: Iterable[int], rules: Rules) -> WhatIf:
    """Simulate a recorded run with each number of ``slots``.

    For a run of more than 30,000 states, only a spread of them, with the powers of two and the number of the run.
    """
    path, nodes = longest_path(plan, recording)
    work = recording.work
    alone = simulate(plan, recording, 1, rules).seconds
    points: list[Point] = []
    settled = -1.0
    asked = sorted(set(slots))
    chosen = spread(asked, max(_FEWEST_POINTS, _NODES // max(len(plan.nodes), 1)), recording.concurrency)
    for number in chosen:
        if settled < 0:
            run = simulate(plan, recording, number, rules)
            settled = run.seconds if run.peak < number else settled
        seconds = settled if settled >= 0 else run.seconds
        points.append(Point(number, seconds, alone / seconds if seconds else 1.0, max(path, work / number)))
    now = simulate(plan, recording, recording.concurrency, rules).seconds
    return WhatIf(
        states=len(plan.chunks),
        unknown=len(recording.unknown),
        slots=recording.concurrency,
        wall=recording.wall,
        simulated=now,
        work=work,
        path=path,
        links=tuple(Link(_label(plan, node), recording.length(node)) for node in nodes if recording.spans[node]),
        points=tuple(points),
        skipped=len(asked) - len(chosen),
    )


def spread(numbers: Sequence[int], most: int, own: int) -> list[int]:
    """Return ``numbers``, which are sorted; of more than ``most`` some, as far from each other on a logarithmic scale.

    The first, the last, ``own`` and the powers of two are among them in any case.
    """
    if len(numbers) <= most:
        return list(numbers)
    first, last = numbers[0], numbers[-1]
    chosen = {first, last, *(number for number in numbers if number == own or number & (number - 1) == 0)}
    for step in range(most):
        wanted = first * (last / first) ** (step / (most - 1))
        if len(chosen) < most:
            chosen.add(numbers[min(bisect_left(numbers, wanted), len(numbers) - 1)])
    return sorted(chosen)


def _label(plan: Plan, node: int) -> str:
    what = plan.nodes[node]
    match what.kind:
        case NodeKind.GROUP:
            return f"aggregation of {count(len(what.members), 'state')}"
        case NodeKind.CHECK:
            return f"check of {describe_tag(plan.chunks[what.chunk].tag)}"
        case NodeKind.LISTENER:
            return describe_tag(what.label)
    return describe_tag(plan.chunks[what.chunk].tag)


# for people and programs


def what_if_lines(found: WhatIf, palette: Palette = PLAIN) -> Iterator[str]:
    """Yield the answer as text."""
    yield (
        f"{count(found.states, 'state')}: {short_time(found.work)} of work, {short_time(found.wall)} with "
        f"{count(found.slots, 'slot')} (simulated: {short_time(found.simulated)})."
    )
    if found.unknown:
        yield palette.paint(
            palette.yellow, f"{count(found.unknown, 'state')} never ended in this run: taken as no time at all."
        )
    yield ""
    width = _width(found)
    yield palette.paint(palette.cyan, f"{'Slots':>5}  {'Time':>{width}}  {'Faster':>6}  {'At best':>{width}}")
    for point in _shown(found):
        mark = "  as recorded" if point.slots == found.slots else ""
        yield (
            f"{point.slots:>5}  {short_time(point.seconds):>{width}}  {point.speedup:>5.1f}x  "
            f"{short_time(point.bound):>{width}}{mark}"
        )
    if found.skipped:
        yield f"The run is large: {count(found.skipped, 'more number')} of slots were not simulated."
    yield ""
    yield f"More than {count(found.enough.slots, 'slot')} would gain less than 5 %."
    yield ""
    yield palette.paint(palette.cyan, f"Critical path: {short_time(found.path)}, which no number of slots can beat")
    yield from _path_lines(found.links, width)


def _width(found: WhatIf) -> int:
    """Return the width of the columns of times."""
    times = [each for point in found.points for each in (point.seconds, point.bound)]
    times += [link.seconds for link in found.links]
    return max(8, *(len(short_time(each)) for each in times))


def _shown(found: WhatIf) -> list[Point]:
    """Return the points of a table: all if they are few, else powers of two, and those that are worth naming."""
    if len(found.points) <= _LISTED:
        return list(found.points)
    named = {found.slots, found.enough.slots, found.points[0].slots, found.points[-1].slots}
    return [point for point in found.points if point.slots in named or point.slots & (point.slots - 1) == 0]


def _path_lines(links: Sequence[Link], width: int) -> Iterator[str]:
    longest = sorted(range(len(links)), key=lambda number: -links[number].seconds)[: 2 * _LISTED]
    hidden = 0
    for number, link in enumerate(links):
        if number in longest:
            if hidden:
                yield f"  {'':>{width}}  … {count(hidden, 'shorter one')}"
                hidden = 0
            yield f"  {short_time(link.seconds):>{width}}  {link.label}"
        else:
            hidden += 1
    if hidden:
        yield f"  {'':>{width}}  … {count(hidden, 'shorter one')}"


def what_if_data(found: WhatIf) -> dict[str, Any]:
    """Return the answer for programs, times in seconds to the microsecond."""
    plain: dict[str, Any] = msgspec.to_builtins(found)
    rounded: dict[str, Any] = _rounded(plain)
    return {**rounded, "enough": found.enough.slots}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, (list, tuple)) else value
