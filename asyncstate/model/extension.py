"""A plan that grows by states of other hosts, and by the orders in which states of several hosts run."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from asyncstate.model.chunk import LowChunk
from asyncstate.model.dag import SET
from asyncstate.model.plan import Node, NodeKind, plan_digest
from asyncstate.model.requisite import Requisite, RequisiteKind

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from asyncstate.model.chunk import Declared
    from asyncstate.model.plan import Plan

SET_FROM = 8
"""A requisite on this many states of other hosts goes through a SET node."""


class Extension:
    """A plan with more nodes and edges than it was compiled with. The given plan does not change.

    ``checks`` has the test-mode calls of states: the CHECK node of a chunk.
    """

    def __init__(self, plan: Plan) -> None:
        self.checks: dict[int, int] = plan.checks
        self._plan = plan
        self._nodes: list[Node] = list(plan.nodes)
        self._rank: list[int] = list(plan.rank)
        self._requisites: list[list[Requisite]] = [list(each) for each in plan.requisites]
        self._dag = plan.dag.copy()
        self._elsewhere: dict[int, LowChunk] = {}

    def plan(self, named: bytes) -> Plan:
        """Return the whole plan. ``named`` is what its digest covers besides its states, nodes and edges."""
        nodes = tuple(self._nodes)
        digest = hashlib.sha256(plan_digest(self._plan.chunks, nodes, self._dag, self._plan.contingent).encode())
        digest.update(named)
        return msgspec.structs.replace(
            self._plan,
            nodes=nodes,
            rank=tuple(self._rank),
            dag=self._dag,
            requisites=tuple(map(tuple, self._requisites)),
            elsewhere=self._elsewhere,
            digest=digest.hexdigest(),
        )

    def add_check(self, chunk: int, passed_over: Collection[str]) -> None:
        """Add the test-mode call of a state, if it has none. It waits for what the state waits for.

        Edges with a source in ``passed_over`` do not count.
        """
        if chunk in self.checks:
            return
        check = self.checks[chunk] = self._add(Node(NodeKind.CHECK, chunk), self._plan.rank[chunk])
        for before in list(self._dag.predecessors(chunk)):
            for source in self._dag.sources(before, chunk):
                if source not in passed_over:
                    self._dag.add(before, check, source, self._dag.resources(before, chunk))

    def add_remote(self, state: Declared, label: str, file: str) -> int:
        """Add the node of a state of another host, declared in this file, and return its number."""
        node = self._add(Node(NodeKind.REMOTE, label=label))
        self._elsewhere[node] = LowChunk(
            -1,
            state.state,
            state.fun,
            state.id,
            state.name,
            state.sls,
            self._plan.saltenv,
            0,
            {},
            file=file,
            declared=state.line,
        )
        return node

    def follow(self, before: int, after: int, source: str) -> None:
        """Let a node begin when another one has ended, whatever its result."""
        self._dag.add(before, after, source)

    def order(self, before: int, chunk: int, source: str) -> None:
        """Order a state after a node, by a requisite that fails only if the node's end is unknown.

        The state's check and group need not wait.
        """
        self._requisites[chunk].append(Requisite(RequisiteKind.REQUIRE, before))
        self._dag.add(before, chunk, source)

    def listen(self, chunk: int, nodes: Sequence[int]) -> None:
        """Let a state listen to these nodes."""
        label = self._plan.chunks[chunk].as_listener().tag
        self._add(Node(NodeKind.LISTENER, chunk, tuple(nodes), label), max(self._rank, default=0) + 1)

    def require(self, chunk: int, kind: RequisiteKind, nodes: Sequence[int]) -> None:
        """Make a state, and its check, wait for nodes of other hosts. Its group does not."""
        if kind in (RequisiteKind.PREREQ, RequisiteKind.PREREQUIRED) or len(nodes) < SET_FROM:
            for node in nodes:
                self._require(chunk, kind, node)
            return
        joined = self._add(Node(NodeKind.SET, members=tuple(nodes), label=f"{len(nodes)} states of other hosts"))
        for node in nodes:
            self._dag.add(node, joined, SET)
        self._require(chunk, kind, joined)

    def _require(self, chunk: int, kind: RequisiteKind, node: int) -> None:
        requisite = Requisite(kind, node)
        if requisite in self._requisites[chunk]:
            return
        self._requisites[chunk].append(requisite)
        self._dag.add(node, chunk, kind.value)
        check = self.checks.get(chunk)
        if check is not None and kind is not RequisiteKind.PREREQUIRED:
            self._dag.add(node, check, kind.value)

    def _add(self, node: Node, rank: int = 0) -> int:
        self._nodes.append(node)
        self._rank.append(rank)
        return self._dag.add_node()
