"""The recorded times of a run by node of its plan: in a slot, in pauses, with the outcome."""

from __future__ import annotations

import math
from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import msgspec

from asyncstate.model.event import ChunkFinished, ChunkReady, ChunkRetried, ChunkStarted, RunStarted
from asyncstate.model.plan import NodeKind
from asyncstate.model.result import Outcome, seconds_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asyncstate.model.event import Event
    from asyncstate.model.plan import Plan

UNKNOWN = Outcome(result=True, changed=False)
"""The assumed outcome of a node without a recorded one."""


class Recording(msgspec.Struct, frozen=True):
    """The times of one run by node of its plan.

    ``spans[node]`` are seconds, in turns: in a slot, in a pause between two attempts, in a slot again … It is empty for
    a node that takes no time, and for one that never ended. ``unknown`` are the chunks that never ended. ``wall`` is
    the time from the start of the first state to the end of the last, in seconds.
    """

    spans: tuple[tuple[float, ...], ...]
    outcomes: tuple[Outcome, ...]
    unknown: tuple[int, ...] = ()
    concurrency: int = 1
    wall: float = 0.0

    @property
    def work(self) -> float:
        """Seconds that all nodes together had a slot."""
        return sum(sum(spans[::2]) for spans in self.spans)

    def length(self, node: int) -> float:
        """Return the seconds of a node from its start to its end."""
        return sum(self.spans[node])


def recording(plan: Plan, events: Iterable[Event], *, resumed: bool = False) -> Recording:
    """Return the times from the events of a run of ``plan``. Tags in both are the displayed ones.

    States that a ``resumed`` run took over from another run took no time in it: the time in the row counts, if longer.
    """
    reader = _Reader(plan, resumed=resumed)
    for event in events:
        reader.on_event(event)
    ended = reader.outcomes
    uncalled = _uncalled(plan, ended)
    spans = {node: tuple(each) for node, each in reader.spans.items() if node not in uncalled}
    return Recording(
        spans=tuple(spans.get(node, ()) for node in range(len(plan.nodes))),
        outcomes=tuple(ended.get(node, UNKNOWN) for node in range(len(plan.nodes))),
        unknown=tuple(chunk for chunk in range(len(plan.chunks)) if chunk not in ended),
        concurrency=reader.concurrency,
        wall=max(reader.last - reader.first, 0.0),
    )


def _uncalled(plan: Plan, ended: dict[int, Outcome]) -> set[int]:
    """Return the listeners that share their tag with the one that was called: the first with a changed target."""
    alike: dict[str, list[int]] = {}
    for number in range(len(plan.chunks), len(plan.nodes)):
        if plan.nodes[number].kind is NodeKind.LISTENER:
            alike.setdefault(plan.nodes[number].label, []).append(number)
    uncalled: set[int] = set()
    for nodes in alike.values():
        due = (node for node in nodes if any(ended.get(each, UNKNOWN).changed for each in plan.nodes[node].members))
        uncalled.update(set(nodes) - {next(due, nodes[0])})
    return uncalled


class _Slots:
    """The times of slots after pauses, which no event records: the first to wait is assumed to be the first to go on.

    With only one slot, a state keeps it in its pauses.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._busy = 0
        self._pausing: list[tuple[float, int]] = []
        self._waiting: deque[int] = deque()
        self.since: dict[int, float] = {}
        """For each state that works, pauses or waits for a slot: the start of its work, as far as known."""

    @property
    def full(self) -> bool:
        """Whether no slot is free."""
        return self._busy >= self._count

    def start(self, nodes: Iterable[int], now: float) -> None:
        """Record that the nodes of a state take a slot."""
        self._end_pauses(now)
        self._busy += 1
        self.since.update(dict.fromkeys(nodes, now))

    def pause(self, node: int, now: float, seconds: float) -> None:
        """Record that a state releases its slot until some time after its pause."""
        self._leave(node, now)
        self.since[node] = now + seconds
        if self._count > 1:
            self._free(now)
            heappush(self._pausing, (now + seconds, node))

    def end(self, nodes: Iterable[int], now: float) -> None:
        """Record that the nodes of a state free their slot, if any."""
        begun = [node for node in nodes if node in self.since]
        for node in begun:
            self._leave(node, now)
            del self.since[node]
        if begun:
            self._free(now)

    def _leave(self, node: int, now: float) -> None:
        """Determine the states with a slot until now. Stopping a run ends pauses."""
        self._end_pauses(now)
        if node in self._waiting:
            self._waiting.remove(node)
            self._busy += 1
        cut = [each for each in self._pausing if each[1] == node]
        if cut:
            self._pausing.remove(cut[0])
            heapify(self._pausing)
            self._busy += 1

    def _end_pauses(self, now: float) -> None:
        while self._pausing and self._pausing[0][0] <= now:
            _, node = heappop(self._pausing)
            if self.full:
                self._waiting.append(node)
            else:
                self._busy += 1

    def _free(self, now: float) -> None:
        if self._waiting:
            self.since[self._waiting.popleft()] = now
        elif self._busy:
            self._busy -= 1


class _Reader:
    def __init__(self, plan: Plan, *, resumed: bool) -> None:
        self.spans: dict[int, list[float]] = {}
        self.outcomes: dict[int, Outcome] = {}
        self.concurrency = 1
        self.first = math.inf
        self.last = 0.0
        self._resumed = resumed
        self._nodes = _nodes_by_tag(plan)
        self._group_of = {
            member: number
            for number, node in enumerate(plan.nodes)
            if node.kind is NodeKind.GROUP
            for member in node.members
        }
        self._slots = _Slots(1)
        self._ended: dict[str, float] = {}
        self._full_until = 0.0
        self._began = 0.0

    def on_event(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.concurrency, self._began = event.concurrency, event.time
                self._slots = _Slots(event.concurrency)
            case ChunkReady() if "group" in event.because:
                self._group(event)
            case ChunkStarted():
                self.first = min(self.first, event.time)
                self._slots.start(self._nodes.get((event.tag, event.check), ()), event.time)
            case ChunkRetried():
                for node in self._nodes.get((event.tag, False), ()):
                    self._pause(node, event)
            case ChunkFinished():
                self._finish(event)

    def _pause(self, node: int, event: ChunkRetried) -> None:
        since = self._slots.since.get(node)
        if since is not None:
            self._slots.pause(node, event.time, event.interval)
            self.spans.setdefault(node, []).extend((max(event.time - since, 0.0), event.interval))

    def _finish(self, event: ChunkFinished) -> None:
        self.last = self._ended[event.tag] = event.time
        if self._slots.full:
            self._full_until = event.time
        nodes = self._nodes.get((event.tag, event.check), ())
        since = {node: self._slots.since.get(node, event.time) for node in nodes}
        self._slots.end(nodes, event.time)
        for node in nodes:
            spent = max(event.time - since[node], 0.0)
            if self._resumed:
                spent = max(spent, seconds_of(event.row))
            self.spans.setdefault(node, []).append(spent)
            self.outcomes[node] = Outcome.of(event.row)

    def _group(self, event: ChunkReady) -> None:
        """Estimate the time of a group, whose start no event records: a slot must have been free."""
        for node in self._nodes.get((event.tag, event.check), ()):
            group = self._group_of.get(node)
            if group is not None and group not in self.spans:
                began = max(self._ended.get(event.after, self._began), self._full_until)
                self.spans[group] = [max(event.time - began, 0.0)]


def _nodes_by_tag(plan: Plan) -> dict[tuple[str, bool], list[int]]:
    """Return the nodes for the events of a tag: chunks and listeners, or with True, checks."""
    nodes: dict[tuple[str, bool], list[int]] = {}
    for number, node in enumerate(plan.nodes):
        if node.kind in (NodeKind.CHUNK, NodeKind.CHECK):
            nodes.setdefault((plan.chunks[node.chunk].tag, node.kind is NodeKind.CHECK), []).append(number)
        elif node.kind is NodeKind.LISTENER:
            nodes.setdefault((node.label, False), []).append(number)
    return nodes
