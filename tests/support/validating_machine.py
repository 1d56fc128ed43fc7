"""ValidatingMachine: a machine that checks itself.

`validate` computes the state a machine must have from the plan, the running nodes and the ended ones, and compares it
with the machine's own state, in O(nodes + edges).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from asyncstate.model.plan import EDGE_SOURCES, TIMELESS, NodeKind
from asyncstate.run.machine import Machine, Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from asyncstate.model.plan import ContingentEdge, Plan
    from asyncstate.model.result import Outcome
    from asyncstate.run.machine import Work

_SMALL = 64
"""The number of nodes up to which every transition is checked; in larger plans a few, so that the cost stays linear."""
_CHECKS = 32
"""The approximate number of checks of a larger plan. History is checked at the end: a gap stays."""


class InvalidMachine(AssertionError):
    """The state of a machine contradicts itself."""


class ValidatingMachine(Machine):
    """Calls `validate` after every transition; in a plan of more than 64 nodes, now and then, and at the end."""

    def __init__(self, plan: Plan, **options: object) -> None:
        super().__init__(plan, **options)  # type: ignore[arg-type]
        self._every = 1 if len(plan.nodes) <= _SMALL else 2 * len(plan.nodes) // _CHECKS
        self._transitions = 0
        self._ending = self._invalid = False
        unknown = {source for _, sources in plan.dag.packed() for source in sources} - EDGE_SOURCES
        if unknown:
            raise InvalidMachine(f"edges have sources that nothing else knows: {', '.join(sorted(unknown))}")
        self.validate()

    def stop(self, reason: str) -> None:
        """Stop, then check."""
        super().stop(reason)
        self._checked()

    def take(self) -> Work | None:
        """Take, then check."""
        work = super().take()
        self._checked()
        return work

    def done(self, node: int, outcome: Outcome) -> list[int]:
        """Record an end, then check."""
        if node not in self.running | self.given_up:
            raise InvalidMachine(f"node {node} ended, and does not run")
        self._ending = True  # `stop` may be called before the end
        released = super().done(node, outcome)
        self._ending = False
        self._checked()
        return released

    def give_up(self, calls: Mapping[int, Outcome]) -> None:
        """Give up, then check."""
        self._ending = True
        super().give_up(calls)
        self._ending = False
        self._checked()

    def _checked(self) -> None:
        self._transitions += 1
        due = self._transitions % self._every == 0 or self.finished
        if due and not self._ending and not self._invalid:
            self.validate()

    def validate(self) -> None:
        """Raise InvalidMachine with everything that is wrong. The messages below say what is checked."""
        wrong = [
            *self._wrong_places(),
            *self._wrong_counts(),
            *self._wrong_lanes(),
            *self._wrong_listeners(),
            *(self._wrong_history() if self._every == 1 or self.finished else ()),
        ]
        if wrong:
            self._invalid = True  # Report once: the run ends now.
            raise InvalidMachine("\n".join(wrong))

    def _ended(self) -> list[int]:
        return [node for node in range(len(self.plan.nodes)) if self.outcomes.of(node) is not None]

    def _wrong_places(self) -> Iterator[str]:
        """Each node is in one place: waiting, in the heap, parked, running or ended."""
        heap = [node for _, node in self._ready]
        parked = [node for nodes in self._parked.values() for node in nodes]
        places = Counter([*heap, *parked, *self.running, *self.awaited])
        places.update(self._ended())
        yield from (f"node {node} is in {count} places" for node, count in places.items() if count > 1)
        if len(self._rank) != len(self.plan.nodes):
            yield f"{len(self._rank)} nodes have a priority, and there are {len(self.plan.nodes)}"
        for position, entry in enumerate(self._ready):
            if entry != (self._rank[entry[1]], entry[1]):
                yield f"node {entry[1]} is ready with a rank that is not its own"
            if position and entry < self._ready[(position - 1) // 2]:
                yield f"node {entry[1]} is ready before one of lower rank: the heap is none"
        for node, what in enumerate(self.plan.nodes):
            ended = self.outcomes.of(node) is not None
            under_way = node in self.running or node in self.awaited or self._is_given_up(node)
            if bool(self._started[node]) != (ended or under_way):
                yield f"node {node} counts as {'started' if self._started[node] else 'not started'}"
            if what.kind in TIMELESS and (node in self.running or node in parked or node in heap):
                yield f"node {node} takes no time, and is handed out"
        if self._alone != any(node in self._exclusive for node in self.running):
            yield f"something exclusive runs alone: {self._alone}"
        if self._alone and len(self.running) > 1:
            yield "something exclusive runs beside others"
        if self._closed and not self.stopped:
            yield "it is closed, and nobody stopped it"

    def _is_given_up(self, node: int) -> bool:
        return bool(self.stopped) and self.plan.nodes[node].kind is NodeKind.REMOTE

    def _wrong_counts(self) -> Iterator[str]:
        """Each node waits for its predecessors that have not ended; with none left it is ready, parked or running."""
        on_its_way = {node for _, node in self._ready} | self.running | self.awaited
        on_its_way.update(node for nodes in self._parked.values() for node in nodes)
        before = self.plan.dag.predecessors
        contingent = Counter(edge.after for edge in self.plan.contingent if self._binds(edge))
        for node, count in enumerate(self._waiting):
            left = sum(self._is_open(other) for other in before(node)) + contingent[node]
            if count < left or (count > left and not self.stopped):
                yield f"node {node} waits for {count}, and {left} have not ended"
            if left and (node in on_its_way or self.outcomes.of(node) is not None):
                yield f"node {node} did not wait for all before it"
            listens = self.plan.nodes[node].kind is NodeKind.LISTENER
            passed = self._started[node] or node in on_its_way or not self._is_open(node)
            if not (left or listens or self.stopped or passed):
                yield f"node {node} is free, and forgotten"

    def _binds(self, edge: ContingentEdge) -> bool:
        proof = self.outcomes.of(edge.proof)
        proved = proof is not None and proof.result is True and proof.ran
        return self._is_open(edge.before) and not proved

    def _is_open(self, node: int) -> bool:
        return self.outcomes.of(node) is None and node not in self.withheld

    def _wrong_lanes(self) -> Iterator[str]:
        inside = (self.running | self.given_up) - self._held
        taken = Counter(lane for node in inside for lane in self._lanes_of(node))
        if taken != +self._taken or any(count < 0 for count in self._taken.values()):
            yield f"places taken in lanes: {dict(taken)}, and counted: {dict(self._taken)}"
        yield from (f"lane {lane} is overfull" for lane in taken if taken[lane] > self._limits.get(lane, 1))
        for lane, nodes in self._parked.items():
            if taken[lane] < self._limits.get(lane, 1):
                yield f"nodes {nodes} wait for lane {lane}, which has a place"
            yield from (f"node {node} waits for lane {lane}" for node in nodes if lane not in self._lanes_of(node))

    def _wrong_listeners(self) -> Iterator[str]:
        """Listeners run one by one after everything else has ended, each label once."""
        listeners = set(self._listeners)
        due = {node for _, node in self._ready} & listeners | self.running & listeners
        if len(due) > 1 or (due and self.running - due) or (due and len(self._ready) > 1):
            yield f"listeners {sorted(due)} are called beside others"
        if due & set(self._to_come):
            yield "a listener that was called is still to come"
        called = [self.plan.nodes[node].label for node in self._listeners if self._started[node]]
        if len(called) != len(set(called)) or set(called) != self._called:
            yield f"listeners called: {called}, and noted: {sorted(self._called)}"
        unchecked = {chunk for chunk, check in self.outcomes.check_of.items() if not self._has_checked(chunk, check)}
        if unchecked != self._unchecked:
            yield f"checks that were not made: {sorted(unchecked)}, and noted: {sorted(self._unchecked)}"
        if not (self.running or self._ready or self.awaited or self._parked or self.stopped or self.given_up):
            yield from (f"listener {node} is due, and not called" for node in self._to_come if self._is_due(node))

    def _has_checked(self, chunk: int, check: int) -> bool:
        return bool(self._started[check]) and self.outcomes.verdict(chunk, check=check).runs

    def _wrong_history(self) -> Iterator[str]:
        """The history has one entry for each start and each end."""
        seen: dict[Step, list[int]] = {step: [] for step in Step}
        for step, node in self.history():
            seen[step].append(node)
        if sorted(seen[Step.TAKEN] + seen[Step.PASSED]) != [n for n, started in enumerate(self._started) if started]:
            yield "the history lacks a start"
        if sorted(seen[Step.ENDED] + seen[Step.PASSED] + seen[Step.GIVEN_UP]) != self._ended():
            yield "the history lacks an end"
