"""The last step: renumber everything into serial order and freeze it as a Plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.compile.graph.requisite_graph import KIND_BITS, KIND_MASK, KINDS
from asyncstate.model.chunk import LowChunk
from asyncstate.model.dag import GROUP, SET, Dag
from asyncstate.model.plan import TIMELESS, BrokenListener, ContingentEdge, Node, NodeKind, Plan, plan_digest
from asyncstate.model.requisite import RemoteRequisite, Requisite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asyncstate.compile.findings import Findings
    from asyncstate.compile.graph.order import SerialOrder
    from asyncstate.compile.graph.requisite_graph import RequisiteGraph
    from asyncstate.model.plan import Contradiction

_SOURCES = (*(kind.value for kind in KINDS), SET, GROUP)
_REORDERED = 3
"""Fewer requisites than these stand by target already."""


class Listening(msgspec.Struct):
    """Listeners and their targets as draft numbers, in Salt's order; and the rows of listeners with missing states.

    ``broken``: (targets, tag, row) of a ``listen_in`` that names a missing listener; the row appears only if a target
    changes. ``rows``: the rows, by tag, for missing targets.
    """

    listeners: list[tuple[int, tuple[int, ...]]] = []
    broken: list[tuple[tuple[int, ...], str, dict[str, Any]]] = []
    rows: dict[str, dict[str, Any]] = {}


class PlanBuilder:
    """Renumbers a requisite graph, and empties it.

    ``number[node]`` is the number of a node in the plan, -1 if it is left out.
    """

    def __init__(self, graph: RequisiteGraph, serial: Sequence[int], order: SerialOrder) -> None:
        self._graph = graph
        kinds, is_chunk = graph.kind, NodeKind.CHUNK
        self.number: list[int] = [-1] * len(graph.chunk)
        chunk_nodes = [node for node in serial if kinds[node] is is_chunk]
        for index, node in enumerate(chunk_nodes):
            self.number[node] = index
        self.chunks: tuple[LowChunk, ...] = tuple(
            self._chunk(index, node, order) for index, node in enumerate(chunk_nodes)
        )
        self.rank: list[int] = [rank for rank, node in enumerate(serial) if kinds[node] is is_chunk]
        self.nodes: list[Node] = [Node(is_chunk, index) for index in range(len(chunk_nodes))]
        self._add_others(serial)
        self.dag: Dag = Dag(len(self.nodes))
        self.contingent: list[ContingentEdge] = []
        self.entries: dict[int, tuple[str, ...]] = {}
        self._requisites: tuple[tuple[Requisite, ...], ...] = self._resolved()
        self._add_edges()
        graph.empty()

    def add_node(self, node: Node, rank: int = 0) -> int:
        """Add a node to the plan that the requisite graph does not have."""
        self.nodes.append(node)
        self.rank.append(rank)
        return self.dag.add_node()

    def _chunk(self, index: int, node: int, order: SerialOrder) -> LowChunk:
        draft = self._graph.drafts[node]
        return LowChunk(
            index,
            draft.state,
            draft.fun,
            draft.id,
            draft.name,
            draft.sls,
            draft.env,
            order.own[node],
            draft.args,
            draft.included_from,
            draft.file,
            draft.lines or 0,
        )

    def _add_others(self, serial: Sequence[int]) -> None:
        """Number checks, groups and sets behind the chunks. Checks and groups also get a rank, as they take time."""
        graph, is_chunk = self._graph, NodeKind.CHUNK
        for rank, node in enumerate(serial):
            if graph.kind[node] is is_chunk:
                continue
            self.number[node] = len(self.nodes)
            self.rank.append(rank)
            members = tuple(self.number[member] for member in graph.members.get(node, ()))
            chunk = self.number[graph.chunk[node]] if graph.kind[node] is NodeKind.CHECK else -1
            self.nodes.append(Node(graph.kind[node], chunk, members, graph.label.get(node, "")))
        for node, members in graph.members.items():
            numbers = tuple(self.number[member] for member in members if self.number[member] >= 0)
            if graph.kind[node] is NodeKind.SET and numbers:
                self.number[node] = len(self.nodes)
                self.rank.append(0)
                self.nodes.append(Node(NodeKind.SET, -1, numbers, graph.label[node]))

    def _add_edges(self) -> None:
        add, number, graph = self.dag.add, self.number, self._graph
        for node, before in enumerate(number):
            if before >= 0:
                for target, kind in graph.edges_from(node):
                    after = number[target]
                    if after >= 0:
                        add(before, after, _SOURCES[kind])

    def in_serial_order(self) -> list[int]:
        """Return the nodes that take time, chunks, checks and groups, in serial order."""
        timed = [number for number, node in enumerate(self.nodes) if node.kind not in TIMELESS]
        return sorted(timed, key=self.rank.__getitem__)

    def _resolved(self) -> tuple[tuple[Requisite, ...], ...]:
        """Return the requisites of each chunk, with the plan's node numbers."""
        found: list[tuple[Requisite, ...]] = [()] * len(self.chunks)
        number = self.number
        requisites = self._graph.requisites
        while requisites:
            draft, packed = requisites.popitem()
            index = number[draft]
            if index >= 0:
                found[index] = tuple(
                    Requisite(KINDS[one & KIND_MASK], number[one >> KIND_BITS])
                    for one in (packed if len(packed) < _REORDERED else _by_target(packed))
                    if number[one >> KIND_BITS] >= 0
                )
        return tuple(found)

    def _add_listeners(self, listening: Listening) -> None:
        """Add the listeners of chunks in the plan, ranked behind everything else."""
        for place, (listener, targets) in enumerate(listening.listeners, len(self.rank)):
            chunk = self.number[listener]
            known = tuple(self.number[target] for target in targets if self.number[target] >= 0)
            if chunk >= 0 and known:
                label = self.chunks[chunk].as_listener().tag
                self.add_node(Node(NodeKind.LISTENER, chunk, known, label), place)

    def broken_listeners(self, listening: Listening) -> tuple[BrokenListener, ...]:
        """Return the rows for listeners whose state does not exist."""
        return tuple(
            BrokenListener(tuple(self.number[target] for target in targets if self.number[target] >= 0), tag, row)
            for targets, tag, row in listening.broken
        )

    def finish(
        self,
        *,
        listening: Listening,
        rows: dict[str, dict[str, Any]],
        findings: Findings,
        saltenv: str,
        unknown: dict[int, str],
        refused: dict[int, str],
        remote: tuple[RemoteRequisite, ...],
        contradictions: tuple[Contradiction, ...],
    ) -> Plan:
        """Freeze the plan. ``refused`` says by chunk why it is in no group."""
        self._add_listeners(listening)
        nodes = tuple(self.nodes)
        return Plan(
            chunks=self.chunks,
            nodes=nodes,
            requisites=self._requisites,
            rank=tuple(self.rank),
            dag=self.dag,
            contingent=tuple(self.contingent),
            broken_listeners=self.broken_listeners(listening),
            unknown=unknown,
            entries=self.entries,
            not_aggregated=refused,
            contradictions=contradictions,
            remote=remote,
            rows=rows,
            warnings=tuple(findings.warnings),
            saltenv=saltenv,
            digest=plan_digest(self.chunks, nodes, self.dag, self.contingent),
        )


def _by_target(packed: dict[int, None]) -> Sequence[int]:
    """Return the requisites of a draft by target, each where it is first named: ``mod_watch`` sees this order."""
    places: dict[int, int] = {}
    return sorted(packed, key=lambda one: places.setdefault(one >> KIND_BITS, len(places)))
