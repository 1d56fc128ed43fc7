"""Machine: the scheduler. Events go in, work comes out; it reads no clock, does no I/O and never waits.

`take` hands out the next piece of work, `done` reports its end. Ready nodes wait in a heap keyed by serial rank. So one
worker follows exactly the serial order, and several start the first ready node in that order; another priority gives
another legal order (`run/options.py`). Sets and stages take no
time: they are complete as soon as all their predecessors are. A contingent edge binds until the node before it ends, or
its proof succeeds. Listeners run last, one after the other. A call may never end: `give_up` goes on without it.

    waiting ──all predecessors ended──▶ ready ──take──▶ running ──done──▶ ended
                                        ▲ │
                    a place becomes free│ ▼ a lane is full
                                        parked
"""

from __future__ import annotations

from array import array
from collections import Counter
from enum import IntEnum
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import msgspec

from asyncstate.model.plan import TIMELESS, NodeKind
from asyncstate.model.result import Outcome
from asyncstate.run.gate import Verdict
from asyncstate.run.outcomes import Outcomes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from asyncstate.model.plan import Plan


_CHECK = NodeKind.CHECK
_GROUP = NodeKind.GROUP
_LISTENER = NodeKind.LISTENER
_REMOTE = NodeKind.REMOTE
_FAIL = Verdict.FAIL


class Step(IntEnum):
    """One entry of a machine's history. A call of `take`, `done`, `stop` or `fail_hard` precedes its effects."""

    READY = 0
    """All its predecessors ended: `take` may hand it out."""
    PARKED = 1
    """It was first in the heap, but a lane that it needs is full."""
    PASSED = 2
    """A set or a stage: complete once all its predecessors are."""
    TAKEN = 3
    """`take` handed it out."""
    ENDED = 4
    """`done` reported its end."""
    FAILED_HARD = 5
    """It failed and is a failhard: no further chunk starts."""
    STOPPED = 6
    """`stop` was called. The entry belongs to no node."""
    GIVEN_UP = 7
    """`give_up` was called: its row counts, although its call has not ended."""


_READY, _PARKED, _PASSED, _TAKEN, _ENDED, _FAILED_HARD, _STOPPED, _GIVEN_UP = map(int, Step)


class Work(msgspec.Struct, frozen=True, gc=False):
    """A piece of work: run a chunk, run it in test mode for a prereq (CHECK), aggregate a GROUP, call a LISTENER.

    ``failed`` are the chunks behind a FAIL verdict, in serial order, ``elsewhere`` the REMOTE nodes behind it;
    ``members`` are the chunks of a group that may run, without those that need a state of another host: these run
    alone.
    """

    node: int
    kind: NodeKind
    chunk: int
    verdict: Verdict = Verdict.MET
    failed: tuple[int, ...] = ()
    members: tuple[int, ...] = ()
    elsewhere: tuple[int, ...] = ()


class Machine:
    """The state of one run.

    ``failhard`` are the chunks whose failure stops dispatching. ``exclusive`` chunks run alone, and so do their checks
    and groups. ``lanes`` are the lanes in which each chunk needs a place, ``limits`` the number of places of a lane
    (default: one). ``priority`` has a number for each node: the ready node with the lowest is taken first. Default: the
    plan's rank, which is the serial order. The members of a transaction have a lane of their own, and keep their serial
    order at any priority: each in turn reports the common work that the first has done for all.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        failhard: Collection[int] = (),
        exclusive: Collection[int] = (),
        lanes: Mapping[int, Sequence[str]] | None = None,
        limits: Mapping[str, int] | None = None,
        priority: Sequence[int] | None = None,
    ) -> None:
        self.plan = plan
        self._failhard = failhard
        self._exclusive = _exclusive_nodes(plan, exclusive)
        self._alone = False
        self._lanes = {**(lanes or {}), **_lanes_of_turns(plan, lanes or {})}
        self._limits = limits or {}
        self._taken: Counter[str] = Counter()
        self._parked: dict[str, list[int]] = {}
        self._waiting = plan.dag.in_degrees()
        self._ends: dict[int, list[int]] = {}
        """The contingent edges that stop binding when a node ends, by their places in the plan."""
        self._proves: dict[int, list[int]] = {}
        """The contingent edges that stop binding when a node succeeds."""
        self._binding = [True] * len(plan.contingent)
        for place, edge in enumerate(plan.contingent):
            self._waiting[edge.after] += 1
            self._ends.setdefault(edge.before, []).append(place)
            self._proves.setdefault(edge.proof, []).append(place)
        self.outcomes: Outcomes = Outcomes(plan)
        self._rank = plan.rank if priority is None else plan.in_turn(priority)
        self._ready: list[tuple[int, int]] = []
        self._started = bytearray(len(plan.nodes))
        self._unchecked = set(self.outcomes.check_of)
        self._listeners = _listeners(plan)
        self._need_others = _need_others(plan) if plan.elsewhere else frozenset[int]()
        self._to_come = self._listeners[::-1]
        self._called: set[str] = set()
        self._closed = False
        self._history = array("q")
        self.running: set[int] = set()
        self.awaited: set[int] = set()
        """The REMOTE nodes that have not ended. They hold no place, and exclusive chunks do not wait for them."""
        self.given_up: set[int] = set()
        """The nodes whose calls were given up and have not ended. They keep their lanes."""
        self.withheld: list[int] = []
        """The nodes that will not start because a call that was given up has not ended."""
        self._held: set[int] = set()
        """The nodes that are handed out only if their requisites keep them from running. They need no lane."""
        self.stopped: str = ""
        apart = set(self._listeners)
        self._release([node for node, count in enumerate(self._waiting) if not count and node not in apart])

    @property
    def ready(self) -> int:
        """The number of pieces of work that could be taken now."""
        return 0 if self._closed else len(self._ready)

    @property
    def finished(self) -> bool:
        """Whether nothing runs and nothing more will start."""
        return not self.running and (self._closed or not (self._ready or self.awaited))

    @property
    def stalled(self) -> bool:
        """Whether nothing runs, the run was not stopped, and chunks are left: a bug, if `take` returns None."""
        if self.running or self.awaited or self.stopped:
            return False
        return bool(self._ready) or not all(self._started[: len(self.plan.chunks)])

    def history(self) -> Iterator[tuple[Step, int]]:
        """Yield every step so far with its node, in order; at most a handful for each node of the plan."""
        for entry in self._history:
            yield Step(entry & _STEP_MASK), entry >> _STEP_BITS

    def has_started(self, chunk: int) -> bool:
        """Whether a chunk was handed out."""
        return bool(self._started[chunk])

    def not_started(self) -> list[int]:
        """Return the chunks that were never handed out, in serial order, and the listeners that were still due."""
        chunks = [index for index in range(len(self.plan.chunks)) if not self._started[index]]
        return chunks + [node for node in self._listeners if not self._started[node] and self._is_due(node)]

    def stop(self, reason: str) -> None:
        """Hand out nothing more; running nodes may finish."""
        if not self._closed:
            self._history.append(_STOPPED)
        self.stopped = self.stopped or reason or "stopped"
        self._closed = True
        self.awaited.clear()

    def fail_hard(self, node: int) -> None:
        """Record that a node failed. If it is a failhard, no further chunk starts.

        Listeners are still called, until a failhard listener fails.
        """
        what = self.plan.nodes[node]
        if what.chunk not in self._failhard:
            return
        self._history.append(node << _STEP_BITS | _FAILED_HARD)
        if what.kind is _LISTENER:
            self.stop(_FAILHARD)
            return
        self.stopped = self.stopped or _FAILHARD
        self._ready.clear()
        self._parked.clear()
        self.awaited.clear()

    def take(self) -> Work | None:
        """Return the next piece of work, or None if there is none now. `finished` says whether there will be more."""
        while self._ready and not self._closed and not self._alone:
            node = self._ready[0][1]
            if node in self._exclusive:
                if self.running:
                    return None
                self._alone = True
            heappop(self._ready)
            if self._lanes and node not in self._held and not self._enter_lanes(node):
                continue
            self._started[node] = True
            self.running.add(node)
            self._history.append(node << _STEP_BITS | _TAKEN)
            return self._work(node)
        return None

    def done(self, node: int, outcome: Outcome) -> list[int]:
        """Record that a node ended. Return the nodes that this made ready, in their order."""
        if node not in self.given_up:
            self._history.append(node << _STEP_BITS | _ENDED)
            self._alone = self._alone and node not in self._exclusive
        if self._lanes and node not in self._held:
            self._leave_lanes(node)
        if node in self.given_up:
            self.given_up.discard(node)
            self._call_listener()
            return []
        self.running.discard(node)
        if outcome.result is False and self._failhard and self.plan.nodes[node].kind is not _CHECK:
            self.fail_hard(node)
        released: list[int] = []
        self._complete(node, outcome, released)
        self._call_listener()
        return released

    def arrive(self, node: int, outcome: Outcome) -> list[int]:
        """Record that a REMOTE node ended, as `done` does. Later calls for the same node change nothing."""
        if node not in self.awaited:
            return []
        self.awaited.discard(node)
        self._history.append(node << _STEP_BITS | _ENDED)
        released: list[int] = []
        self._complete(node, outcome, released)
        self._call_listener()
        return released

    def give_up(self, calls: Mapping[int, Outcome]) -> None:
        """Go on without the end of running calls, when nothing can start before it. ``calls`` gives their outcomes.

        Their successors, nodes that need their lanes, and nodes that must run alone no longer start; but nodes that
        their failure keeps from running become ready. No listener is called: listeners come after all else has ended.
        """
        given_up = calls.keys() & self.running
        self.running -= given_up
        self.given_up |= given_up
        self._history.extend(node << _STEP_BITS | _GIVEN_UP for node in given_up)
        parked = [node for nodes in self._parked.values() for node in nodes]
        free = parked + [node for _, node in self._ready]
        apart = (node for node in self._exclusive if not self._started[node])
        stuck = range(len(self.plan.nodes)) if self._alone else (*apart, *parked)
        self._held |= self._unstarted_from([*stuck, *given_up])
        self._alone = False
        self._parked.clear()
        self._ready.clear()
        self._release(free)
        for node in given_up:
            if calls[node].result is False and self.plan.nodes[node].kind is not _CHECK:
                self.fail_hard(node)
            self._complete(node, calls[node])

    def _unstarted_from(self, nodes: Collection[int]) -> set[int]:
        """Return the unstarted ones among ``nodes`` and all their successors."""
        found, stack = set(nodes), list(nodes)
        while stack:
            node = stack.pop()
            bound = (self.plan.contingent[place].after for place in self._ends.get(node, ()) if self._binding[place])
            after = {*self.plan.dag.successors(node), *bound} - found
            found |= after
            stack += after
        return {node for node in found if not self._started[node]}

    def _call_listener(self) -> None:
        """Make the next due listener ready, if nothing runs, is ready or is awaited."""
        if self.running or self._ready or self.awaited or self.given_up:
            return
        while self._to_come:
            node = self._to_come.pop()
            if self._is_due(node):
                self._make_ready(node)
                return

    def _is_due(self, node: int) -> bool:
        """Whether a target of a listener changed, and no other listener has the same row.

        As in Salt, a listener is not called if its state has a prereq check that was skipped or never reached.
        """
        what = self.plan.nodes[node]
        if what.label in self._called or what.chunk in self._unchecked:
            return False
        return any(outcome is not None and outcome.changed for outcome in map(self.outcomes.of, what.members))

    def _lanes_of(self, node: int) -> Sequence[str]:
        return self._lanes.get(self.plan.nodes[node].chunk, ())

    def _enter_lanes(self, node: int) -> bool:
        """Take a place in every lane of a node. If one is full, take none, and park the node until it has a place."""
        lanes = self._lanes_of(node)
        for lane in lanes:
            if self._taken[lane] >= self._limits.get(lane, 1):
                self._parked.setdefault(lane, []).append(node)
                self._history.append(node << _STEP_BITS | _PARKED)
                return False
        self._taken.update(lanes)
        return True

    def _leave_lanes(self, node: int) -> None:
        lanes = self._lanes_of(node)
        self._taken.subtract(lanes)
        for lane in lanes:
            for waiting in self._parked.pop(lane, ()):
                self._make_ready(waiting)

    def _work(self, node: int) -> Work:
        what = self.plan.nodes[node]
        if what.kind is _GROUP:
            members = tuple(
                chunk
                for chunk in (self.plan.nodes[member].chunk for member in what.members)
                if chunk not in self._need_others and self.outcomes.verdict(chunk).runs
            )
            if what.transaction:
                # A failhard that fails stops all later states, so their work is not done before.
                stops = [chunk for chunk in self._failhard if chunk >= what.members[0]]
                members = tuple(chunk for chunk in members if not stops or chunk <= min(stops))
            return Work(node, what.kind, -1, members=members)
        if what.kind is _LISTENER:
            self._called.add(what.label)
            return Work(node, what.kind, what.chunk, Verdict.LISTEN)
        check = node if what.kind is _CHECK else None
        decided = self.outcomes.verdict(what.chunk, check=check)
        if check is not None and decided.runs:
            self._unchecked.discard(what.chunk)
        if decided is not _FAIL:
            return Work(node, what.kind, what.chunk, decided)
        failed = self.outcomes.failed(what.chunk, check=check)
        chunks = {self.plan.nodes[each].chunk for each in failed}
        elsewhere = tuple(sorted(each for each in failed if self.plan.nodes[each].kind is _REMOTE))
        return Work(node, what.kind, what.chunk, decided, tuple(sorted(chunks - {-1})), elsewhere=elsewhere)

    def _complete(self, node: int, outcome: Outcome, released: list[int] | None = None) -> None:
        self.outcomes.put(node, outcome)
        if self.stopped:
            return
        free = self._free(self.plan.dag.successors(node))
        if self._proves:
            free += self._free(self._unbound(node, outcome))
        if free:
            self._release(free, released)

    def _free(self, successors: Iterable[int]) -> list[int]:
        """Count down what these nodes wait for; return those that wait for nothing more."""
        waiting, free = self._waiting, []
        for successor in successors:
            waiting[successor] -= 1
            if not waiting[successor]:
                free.append(successor)
        return free

    def _unbound(self, node: int, outcome: Outcome) -> Iterator[int]:
        """Yield the ends of the contingent edges that a node's end releases."""
        proved = self._proves.get(node, ()) if outcome.result is True and outcome.ran else ()
        for place in (*self._ends.get(node, ()), *proved):
            if self._binding[place]:
                self._binding[place] = False
                yield self.plan.contingent[place].after

    def _make_ready(self, node: int) -> None:
        heappush(self._ready, (self._rank[node], node))
        self._history.append(node << _STEP_BITS | _READY)

    def _release(self, nodes: Sequence[int], released: list[int] | None = None) -> None:
        """Put free nodes into the heap. Sets and stages are complete at once, and their free successors follow."""
        released = released if released is not None else []
        stack = [*reversed(nodes)]
        while stack:
            free = stack.pop()
            kind, outcome = self.plan.nodes[free].kind, _COMPLETE
            if kind is _REMOTE:
                self._started[free] = True
                self._history.append(free << _STEP_BITS | _TAKEN)
                self.awaited.add(free)
                continue
            if free in self._held and not self._is_decided(free):
                self.withheld.append(free)
                outcome = _OPEN
            elif kind not in TIMELESS:
                self._make_ready(free)
                released.append(free)
                continue
            else:
                self._started[free] = True
                self._history.append(free << _STEP_BITS | _PASSED)
                self.outcomes.put(free, _COMPLETE)
            stack += self._free((*self.plan.dag.successors(free), *self._unbound(free, outcome)))

    def _is_decided(self, node: int) -> bool:
        """Whether a node's outcome is certain although some of its predecessors have not ended."""
        what = self.plan.nodes[node]
        if what.kind in TIMELESS:
            return all(self.outcomes.of(member) is not None for member in what.members)
        if what.kind is _GROUP or not self.outcomes.exclude(what.chunk):
            return False
        check = node if what.kind is _CHECK else None
        return not self.outcomes.verdict(what.chunk, check=check).runs


_STEP_BITS = 3
_STEP_MASK = (1 << _STEP_BITS) - 1
_FAILHARD = "failhard"
_COMPLETE = Outcome(result=True, changed=False)
_OPEN = Outcome(result=None, changed=False, ran=False)


def _lanes_of_turns(plan: Plan, lanes: Mapping[int, Sequence[str]]) -> dict[int, Sequence[str]]:
    return {
        member: (*lanes.get(member, ()), f"transaction {number}")
        for number, members in enumerate(plan.turns)
        for member in members
    }


def _listeners(plan: Plan) -> list[int]:
    """Return the listeners in the order in which they are called; their numbers rise in that order."""
    others = range(len(plan.chunks), len(plan.nodes))
    return [node for node in others if plan.nodes[node].kind is _LISTENER]


def _need_others(plan: Plan) -> frozenset[int]:
    """Return the chunks with a requisite on a state of another host."""
    if not any(node.kind is _REMOTE for node in plan.nodes):
        return frozenset()
    from asyncstate.model.walk import stands_for  # noqa: PLC0415 - few runs are across hosts

    return frozenset(
        chunk
        for chunk, requisites in enumerate(plan.requisites)
        if any(plan.nodes[each].kind is _REMOTE for each in stands_for(plan, (one.node for one in requisites)))
    )


def _exclusive_nodes(plan: Plan, exclusive: Collection[int]) -> Collection[int]:
    """Return the nodes that run alone: all nodes of exclusive chunks, and groups with such a member."""
    if not exclusive:
        return ()
    return {
        number
        for number, node in enumerate(plan.nodes)
        if node.chunk in exclusive
        or (node.kind is _GROUP and any(plan.nodes[member].chunk in exclusive for member in node.members))
    }
