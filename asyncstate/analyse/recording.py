"""What a run showed of each node of its plan: how long it had a slot, how long it paused, and what it ended with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from asyncstate.model.event import ChunkFinished, ChunkReady, ChunkRetried, ChunkStarted, RunStarted
from asyncstate.model.plan import NodeKind
from asyncstate.model.result import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asyncstate.model.event import Event
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row

UNKNOWN = Outcome(result=True, changed=False)
"""What a node is taken to have ended with if the run did not show it."""


class Recording(msgspec.Struct, frozen=True):
    """The times of one run by node of its plan.

    ``spans[node]`` are seconds, in turns: in a slot, in a pause between two attempts, in a slot again … It is empty for
    a node that takes no time, and for one that never ended. ``unknown`` are the chunks that never ended. ``wall`` is
    how long the run took, from the start of its first state to the end of its last.
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
    """Return the times that the events of a run of ``plan`` show. Tags in both are as they are shown.

    What a ``resumed`` run took over from another one took no time in it: then the time in the row counts, if longer.
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
        self._since: dict[int, float] = {}
        self._ended: dict[str, float] = {}
        self._full_until = 0.0
        self._began = 0.0

    def on_event(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.concurrency, self._began = event.concurrency, event.time
            case ChunkReady() if "group" in event.because:
                self._group(event)
            case ChunkStarted():
                self.first = min(self.first, event.time)
                for node in self._nodes.get((event.tag, event.check), ()):
                    self._since[node] = event.time
            case ChunkRetried():
                for node in self._nodes.get((event.tag, False), ()):
                    self._pause(node, event)
            case ChunkFinished():
                self._finish(event)

    def _pause(self, node: int, event: ChunkRetried) -> None:
        since = self._since.get(node)
        if since is not None:
            self.spans.setdefault(node, []).extend((max(event.time - since, 0.0), event.interval))
            self._since[node] = event.time + event.interval

    def _finish(self, event: ChunkFinished) -> None:
        self.last = self._ended[event.tag] = event.time
        if len(self._since) >= self.concurrency:
            self._full_until = event.time
        for node in self._nodes.get((event.tag, event.check), ()):
            spent = max(event.time - self._since.pop(node, event.time), 0.0)
            if self._resumed:
                spent = max(spent, _duration(event.row))
            self.spans.setdefault(node, []).append(spent)
            self.outcomes[node] = Outcome.of(event.row)

    def _group(self, event: ChunkReady) -> None:
        """Note how long a group took: no event says when it began, but it had a slot, so not while all were taken."""
        for node in self._nodes.get((event.tag, event.check), ()):
            group = self._group_of.get(node)
            if group is not None and group not in self.spans:
                began = max(self._ended.get(event.after, self._began), self._full_until)
                self.spans[group] = [max(event.time - began, 0.0)]


def _duration(row: Row) -> float:
    duration = row.get("duration")
    return duration / 1000 if isinstance(duration, (int, float)) else 0.0


def _nodes_by_tag(plan: Plan) -> dict[tuple[str, bool], list[int]]:
    """Return the nodes that the events of a tag are about: chunks and listeners, or with True, checks."""
    nodes: dict[tuple[str, bool], list[int]] = {}
    for number, node in enumerate(plan.nodes):
        if node.kind in (NodeKind.CHUNK, NodeKind.CHECK):
            nodes.setdefault((plan.chunks[node.chunk].tag, node.kind is NodeKind.CHECK), []).append(number)
        elif node.kind is NodeKind.LISTENER:
            nodes.setdefault((node.label, False), []).append(number)
    return nodes
