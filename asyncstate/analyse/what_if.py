"""what-if: how long a recorded run would have taken with other slots, and what its order costs."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.analyse.simulate import Rules, longest_path, simulate
from asyncstate.model.dag import FOOTPRINT, STAGE, Dag
from asyncstate.model.plan import NodeKind
from asyncstate.report.summary import describe_tag
from asyncstate.report.terminal import PLAIN, Palette, clean, count, short_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from asyncstate.analyse.recording import Recording
    from asyncstate.model.plan import Plan

_LEFT_OUT = 12
"""How many lanes, transactions and resources are left out in turn: those whose states take longest, at most."""
_NODES = 2_000_000
"""Nodes that all simulations together work off, about; each takes ten microseconds, twice: for slots, and for costs."""
_FEWEST_POINTS, _FEWEST_LEFT_OUT = 8, 2
_NOTABLE = 0.001
"""Seconds from which on a cost is worth a line."""
_LISTED = 10


class Point(msgspec.Struct, frozen=True):
    """The seconds of the run with so many slots, how many times faster that is than one, and what no run can beat."""

    slots: int
    seconds: float
    speedup: float
    bound: float


class Cost(msgspec.Struct, frozen=True):
    """What the run would take, with so many slots, without one restriction, and how much less that is.

    ``kind`` is lane, exclusive, transaction, order or footprint.
    """

    slots: int
    kind: str
    name: str
    seconds: float
    saved: float


class Link(msgspec.Struct, frozen=True):
    """One node of the longest path: its label and its seconds."""

    label: str
    seconds: float


class WhatIf(msgspec.Struct, frozen=True):
    """The answer. ``wall`` are the seconds that the run took, ``simulated`` those of its simulation with its ``slots``.

    ``costs`` are those with the slots of the run, and with the most slots asked for. ``unknown`` is the number of
    states that never ended in the run and are taken as no time. ``skipped`` is how many of the numbers of slots that
    were asked for have no point, for the run is so large.
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
    costs: tuple[Cost, ...]
    skipped: int = 0

    @property
    def enough(self) -> Point:
        """The fewest slots that are within 5 % of the best."""
        best = min(point.seconds for point in self.points)
        return next(point for point in self.points if point.seconds <= best * 1.05 + _NOTABLE)


def what_if(plan: Plan, recording: Recording, slots: Iterable[int], rules: Rules) -> WhatIf:
    """Simulate a recorded run with each number of ``slots``, and without each restriction that may cost much.

    Of a run of more than 30,000 states, with fewer: evenly spread, the powers of two and that of the run among them.
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
    most = {recording.concurrency: now, points[-1].slots: points[-1].seconds}
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
        costs=tuple(_costs(plan, recording, rules, most, nodes)),
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


# costs


def _costs(
    plan: Plan, recording: Recording, rules: Rules, by_slots: dict[int, float], path: Sequence[int]
) -> list[Cost]:
    """Return what each restriction costs, for each number of slots with the seconds that it takes with all of them."""
    costs = []
    for kind, name, other, less in _variants(plan, recording, rules, path):
        for slots, seconds in by_slots.items():
            without = simulate(other, recording, slots, less).seconds
            if seconds - without >= _NOTABLE:
                costs.append(Cost(slots, kind, name, without, seconds - without))
    return sorted(costs, key=lambda cost: (cost.slots, -cost.saved, cost.kind, cost.name))


def _variants(
    plan: Plan, recording: Recording, rules: Rules, path: Sequence[int]
) -> Iterator[tuple[str, str, Plan, Rules]]:
    """Yield the plan, or the rules, without each restriction in turn."""
    replace = msgspec.structs.replace
    most = min(_LEFT_OUT, max(_FEWEST_LEFT_OUT, _NODES // max(len(plan.nodes), 1) // 6))
    work: dict[str, float] = {}
    for chunk, named in rules.lanes.items():
        for lane in named:
            work[lane] = work.get(lane, 0.0) + recording.length(chunk)
    for lane in sorted(work, key=lambda lane: (-work[lane], lane))[:most]:
        lanes = {chunk: [other for other in named if other != lane] for chunk, named in rules.lanes.items()}
        yield "lane", lane, plan, replace(rules, lanes={chunk: named for chunk, named in lanes.items() if named})
    if rules.exclusive:
        yield "exclusive", count(len(rules.exclusive), "state"), plan, replace(rules, exclusive=frozenset())
    for members in sorted(plan.turns, key=lambda members: -sum(map(recording.length, members)))[:most]:
        apart = tuple(
            replace(node, transaction=False) if node.transaction and node.members == members else node
            for node in plan.nodes
        )
        first = describe_tag(plan.chunks[members[0]].tag)
        yield "transaction", f"{count(len(members), 'state')}, {first} …", replace(plan, nodes=apart), rules
    if any(STAGE in sources for _, sources in plan.dag.packed()):
        yield "order", "explicit order", _without(plan, lambda _, source: source == STAGE), rules
    for resource in _resources(plan, recording, path)[:most]:
        yield "footprint", resource, _without(plan, _only(resource)), rules


def _only(resource: str) -> Callable[[tuple[str, ...], str], bool]:
    return lambda resources, source: source == FOOTPRINT and set(resources) == {resource}


def _without(plan: Plan, dropped: Callable[[tuple[str, ...], str], bool]) -> Plan:
    """Return the plan without the edges for which ``dropped(resources, source)`` holds, and no other reason."""
    dag = Dag(plan.dag.size)
    for before, after, source, resources in plan.dag.edges():
        if not dropped(resources, source):
            dag.add(before, after, source, resources)
    contingent = tuple(edge for edge in plan.contingent if not dropped(edge.resources, FOOTPRINT))
    return msgspec.structs.replace(plan, dag=dag, contingent=contingent)


def _resources(plan: Plan, recording: Recording, path: Sequence[int]) -> list[str]:
    """Return the resources whose order may cost most: those of the longest path, then those with the most work."""
    load: dict[str, float] = {}
    seen: set[tuple[str, int]] = set()
    for edge in plan.dag.edges():
        for resource in edge.resources:
            for node in (edge.before, edge.after):
                if (resource, node) not in seen:
                    seen.add((resource, node))
                    load[resource] = load.get(resource, 0.0) + recording.length(node)
    on_path = [name for one, two in pairwise(path) for name in plan.dag.resources(one, two)]
    by_load = sorted(load, key=lambda name: (-load[name], name))
    ranked = sorted(dict.fromkeys(on_path), key=lambda name: (-load[name], name))
    return list(dict.fromkeys((*ranked[:_LEFT_OUT], *by_load)))[:_LEFT_OUT]


# for people and programs

_KINDS = {
    "lane": "lane {}",
    "exclusive": "{} running alone",
    "transaction": "the transaction of {}",
    "order": "{}",
    "footprint": "{}",
}


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
    yield ""
    yield from _cost_lines(found, width, palette)


def _width(found: WhatIf) -> int:
    """Return the width of the columns of times."""
    times = [each for point in found.points for each in (point.seconds, point.bound)]
    times += [link.seconds for link in found.links] + [cost.saved for cost in found.costs]
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


def _cost_lines(found: WhatIf, width: int, palette: Palette) -> Iterator[str]:
    for slots in sorted({found.slots, found.points[-1].slots}):
        costs = [cost for cost in found.costs if cost.slots == slots]
        if not costs:
            yield f"With {count(slots, 'slot')}, no lane, lone state, explicit order or common resource costs time."
            continue
        yield palette.paint(palette.cyan, f"What order without a requisite costs, with {count(slots, 'slot')}")
        for cost in costs[:_LISTED]:
            name = clean(_KINDS[cost.kind].format(cost.name))
            yield f"  {short_time(cost.saved):>{width}}  {name}: without it {short_time(cost.seconds)}"


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
