"""A host's part of a fleet run: the public part of its plan, and the plan that its engine runs.

Plan ──host_plan──▶ HostPlan ──(join)──▶ Go ──part_of──▶ Part: a Plan with REMOTE nodes
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from asyncstate.compile.high.declarations import fits_nothing
from asyncstate.extras.fleet.errors import MessageRefused
from asyncstate.extras.fleet.protocol import TESTED, HostPlan, State, node_name
from asyncstate.model.chunk import LowChunk
from asyncstate.model.dag import SET
from asyncstate.model.encode import encoded
from asyncstate.model.plan import Node, NodeKind, Plan, plan_digest
from asyncstate.model.requisite import FLEET_LANE, FLEET_ORDER, Requisite, RequisiteKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from asyncstate.extras.fleet.protocol import Barrier, Go, RemoteState, Wait
    from asyncstate.redact.redacted_plan import RedactedPlan

SET_FROM = 8
"""A requisite on this many states of other hosts goes through a SET node."""


def host_plan(
    plan: Plan, shown: RedactedPlan, *, run: str, host: str, nonce: str, exclude: Iterable[str] = ()
) -> HostPlan:
    """Return the public part of a plan: names, places and edges, without arguments and secrets.

    ``exclude`` are the exclusions of the run.
    """
    warned = {issue.message for issue in plan.warnings}
    edges: list[int] = []
    sources: list[str] = []
    for before, after, why in plan.each_edge():
        edges += (before, after)
        sources.append(",".join(why))
    return HostPlan(
        run=run,
        host=host,
        nonce=nonce,
        digest=shown.digest,
        states=tuple(_state(shown.chunk(chunk, chunk.tag), chunk) for chunk in plan.chunks),
        nodes=len(plan.nodes),
        edges=tuple(edges),
        sources=tuple(sources),
        requires=tuple(msgspec.structs.replace(each, value=shown.text(each.value)) for each in plan.remote),
        checks=tuple((node.chunk, number) for number, node in _checks(plan)),
        orders=tuple((chunk.index, chunk.args[FLEET_ORDER]) for chunk in plan.chunks if FLEET_ORDER in chunk.args),
        unfit=tuple(each for each in exclude if fits_nothing(each, typed=True) in warned),
        lanes=tuple((chunk.index, shown.text(lane)) for chunk in plan.chunks for lane in _lanes(chunk)),
    )


def _lanes(chunk: LowChunk) -> list[str]:
    named = chunk.args.get(FLEET_LANE, [])
    return sorted(set(named)) if isinstance(named, list) else [named]


def _state(shown: LowChunk, chunk: LowChunk) -> State:
    return State(
        chunk.state, chunk.fun, shown.id, str(shown.name), shown.sls, chunk.file, chunk.line, chunk.included_from
    )


def _checks(plan: Plan) -> list[tuple[int, Node]]:
    return [(number, node) for number, node in enumerate(plan.nodes) if node.kind is NodeKind.CHECK]


class Partition(msgspec.Struct, frozen=True):
    """``plan`` is for the engine. ``remote`` has its REMOTE nodes, by host and name on the board.

    ``read`` has the names on the board that others wait for: the node of this host, and the hosts. ``ordering`` are the
    REMOTE nodes that only order states, whatever their outcome; ``barriers`` has the REMOTE nodes of barriers, and
    ``before`` the nodes that end before a barrier.
    """

    plan: Plan
    remote: dict[tuple[str, str], int]
    read: dict[str, tuple[int, tuple[str, ...]]]
    ordering: frozenset[int] = frozenset()
    barriers: dict[int, int] = {}
    before: dict[int, tuple[int, ...]] = {}


def partition_of(plan: Plan, shown: RedactedPlan, go: Go, *, can_watch: Callable[[str], bool]) -> Partition:
    """Return the plan with REMOTE nodes for the states of other hosts in a go.

    ``can_watch`` returns whether a state module has ``mod_watch``: without it, a watch becomes a require, as always.
    Raises MessageRefused if the go is not for this plan.
    """
    if go.digest != shown.digest:
        raise MessageRefused(f"the go of run {go.run} is for another plan of {go.host} than the one that was sent")
    try:
        return _Extension(plan, go, can_watch).part()
    except (IndexError, KeyError, ValueError) as error:
        raise MessageRefused(f"the go of run {go.run} names what the plan of {go.host} has not: {error}") from None


class _Extension:
    def __init__(self, plan: Plan, go: Go, can_watch: Callable[[str], bool]) -> None:
        self._plan = plan
        self._go = go
        self._can_watch = can_watch
        self._nodes: list[Node] = list(plan.nodes)
        self._rank: list[int] = list(plan.rank)
        self._requisites: list[list[Requisite]] = [list(each) for each in plan.requisites]
        self._dag = plan.dag.copy()
        self._elsewhere: dict[int, LowChunk] = {}
        self._check_of = {node.chunk: number for number, node in _checks(plan)}

    def part(self) -> Partition:
        go = self._go
        for name in go.readers:
            if name.startswith("c") and int(name[1:]) not in self._check_of:
                self._add_check(int(name[1:]))
        remote = [self._add_remote(each) for each in go.remote]
        for wait in sorted(go.waits, key=lambda wait: wait.kind == RequisiteKind.LISTEN):
            self._wait(wait, [remote[place] for place in wait.remote])
        for after, before in go.follows:
            self._dag.add(self._plan.chunks[before].index, self._plan.chunks[after].index, FLEET_LANE)
        for after, place in go.remote_follows:
            self._order(after, remote[place], FLEET_LANE)
        barriers = {each.order: self._add_barrier(each) for each in go.barriers if each.after}
        names = {str(chunk.index): chunk.index for chunk in self._plan.chunks}
        names |= {node_name(chunk.index, end=True): chunk.index for chunk in self._plan.chunks}
        names |= {node_name(chunk, check=True): node for chunk, node in self._check_of.items()}
        nodes = tuple(self._nodes)
        digest = hashlib.sha256(plan_digest(self._plan.chunks, nodes, self._dag, self._plan.contingent).encode())
        digest.update(encoded([(each.host, each.node, each.state) for each in go.remote]))
        digest.update(encoded([go.follows, go.remote_follows, go.barriers]))
        plan = msgspec.structs.replace(
            self._plan,
            nodes=nodes,
            rank=tuple(self._rank),
            dag=self._dag,
            requisites=tuple(map(tuple, self._requisites)),
            elsewhere=self._elsewhere,
            digest=digest.hexdigest(),
        )
        return Partition(
            plan,
            {(each.host, each.node): number for each, number in zip(go.remote, remote, strict=True)},
            {name: (names[name], readers) for name, readers in go.readers.items()},
            frozenset(number for each, number in zip(go.remote, remote, strict=True) if each.end)
            | frozenset(barriers.values()),
            barriers,
            {each.order: each.before for each in go.barriers if each.before},
        )

    def _add_barrier(self, barrier: Barrier) -> int:
        """Add the node that the states after a barrier wait for."""
        text = str(barrier.order)
        node = self._add(Node(NodeKind.REMOTE, label=f"{FLEET_ORDER} {text}"))
        self._elsewhere[node] = LowChunk(-1, "fleet", "order", text, text, FLEET_ORDER, self._plan.saltenv, 0, {})
        for chunk in barrier.after:
            self._order(chunk, node, FLEET_ORDER)
        return node

    def _order(self, chunk: int, node: int, source: str) -> None:
        """Order a state after a node, by a requisite that fails only if the node's end is unknown.

        The state's check and group need not wait.
        """
        self._requisites[chunk].append(Requisite(RequisiteKind.REQUIRE, node))
        self._dag.add(node, chunk, source)

    def _add(self, node: Node, rank: int = 0) -> int:
        self._nodes.append(node)
        self._rank.append(rank)
        return self._dag.add_node()

    def _add_check(self, chunk: int) -> None:
        """Add the test-mode call of a state that another host asks for. It waits for what the state waits for."""
        check = self._check_of[chunk] = self._add(Node(NodeKind.CHECK, chunk), self._plan.rank[chunk])
        for before in list(self._dag.predecessors(chunk)):
            for source in self._dag.sources(before, chunk):
                if source not in TESTED:
                    self._dag.add(before, check, source, self._dag.resources(before, chunk))

    def _add_remote(self, remote: RemoteState) -> int:
        state = remote.state
        chunk = LowChunk(
            -1,
            state.state,
            state.fun,
            state.id,
            state.name,
            state.sls,
            self._plan.saltenv,
            0,
            {},
            file=f"{remote.host}:{state.file}" if state.file else "",
            declared=state.line,
        )
        label = f"{remote.host}: {'check ' if remote.check else ''}{chunk.tag}"
        node = self._add(Node(NodeKind.REMOTE, label=label))
        self._elsewhere[node] = chunk
        return node

    def _wait(self, wait: Wait, remote: list[int]) -> None:
        chunk, kind = self._plan.chunks[wait.chunk], RequisiteKind(wait.kind)
        if kind is RequisiteKind.LISTEN:
            rank = max(self._rank, default=0) + 1
            self._add(Node(NodeKind.LISTENER, chunk.index, tuple(remote), chunk.as_listener().tag), rank)
            return
        if kind.family is RequisiteKind.WATCH and not self._can_watch(chunk.state):
            kind = RequisiteKind(kind.value.replace("watch", "require"))
        if kind in (RequisiteKind.PREREQ, RequisiteKind.PREREQUIRED) or len(remote) < SET_FROM:
            for node in remote:
                self._require(chunk.index, kind, node)
            return
        joined = self._add(Node(NodeKind.SET, members=tuple(remote), label=f"{len(remote)} states of other hosts"))
        for node in remote:
            self._dag.add(node, joined, SET)
        self._require(chunk.index, kind, joined)

    def _require(self, chunk: int, kind: RequisiteKind, node: int) -> None:
        """Make a state, and its check, wait for a node. Its group does not: the join has no such edge."""
        requisite = Requisite(kind, node)
        if requisite in self._requisites[chunk]:
            return
        self._requisites[chunk].append(requisite)
        self._dag.add(node, chunk, kind.value)
        check = self._check_of.get(chunk)
        if check is not None and kind is not RequisiteKind.PREREQUIRED:
            self._dag.add(node, check, kind.value)
