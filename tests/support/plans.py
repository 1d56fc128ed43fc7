"""Plans made by hand, for tests of what runs them."""

from __future__ import annotations

from asyncstate.model.chunk import LowChunk
from asyncstate.model.dag import Dag
from asyncstate.model.plan import Node, NodeKind, Plan, plan_digest
from asyncstate.model.requisite import Requisite, RequisiteKind


class PlanBuilder:
    """Collects chunks, requisites and extra nodes; the serial order is the order of `chunk` calls.

    >>> plan = PlanBuilder().chunk("a").chunk("b", require=["a"]).build()
    """

    def __init__(self) -> None:
        self.chunks: list[LowChunk] = []
        self.requisites: list[list[tuple[RequisiteKind, str]]] = []
        self.sets: dict[str, tuple[str, ...]] = {}
        self.remotes: list[str] = []
        self.groups: list[tuple[str, ...]] = []
        self.listeners: list[tuple[str, tuple[str, ...]]] = []
        self.rows = {}

    def chunk(self, id_, function="test.nop", *, name=None, sls="s", args=None, **requisites):
        state, fun = function.split(".")
        index = len(self.chunks)
        self.chunks.append(LowChunk(index, state, fun, id_, name or id_, sls, "base", 10000 + index, dict(args or {})))
        self.requisites.append(
            [(RequisiteKind(kind), target) for kind, targets in requisites.items() for target in targets]
        )
        return self

    def set(self, label, *members):
        self.sets[label] = members
        return self

    def remote(self, label):
        """Add a state of another host, to be required by this label."""
        self.remotes.append(label)
        return self

    def group(self, *members):
        self.groups.append(members)
        return self

    def listen(self, id_, *targets):
        self.listeners.append((id_, targets))
        return self

    def build(self) -> Plan:
        index = {chunk.id: chunk.index for chunk in self.chunks}
        nodes = [Node(NodeKind.CHUNK, chunk.index) for chunk in self.chunks]
        rank = [2 * chunk.index + 1 for chunk in self.chunks]
        for label, members in self.sets.items():
            index[label] = len(nodes)
            nodes.append(Node(NodeKind.SET, members=tuple(index[m] for m in members), label=label))
            rank.append(0)
        for label in self.remotes:
            index[label] = len(nodes)
            nodes.append(Node(NodeKind.REMOTE, label=label))
            rank.append(0)
        prereq_targets = {t for reqs in self.requisites for k, t in reqs if k is RequisiteKind.PREREQ}
        checks = {}
        for target in sorted(prereq_targets, key=index.__getitem__):
            checks[target] = len(nodes)
            nodes.append(Node(NodeKind.CHECK, index[target]))
            rank.append(2 * index[target])
        group_nodes = []
        for members in self.groups:
            group_nodes.append(len(nodes))
            nodes.append(Node(NodeKind.GROUP, members=tuple(index[m] for m in members)))
            rank.append(min(2 * index[m] for m in members))
        dag = Dag(len(nodes))
        for label, members in self.sets.items():
            for member in members:
                dag.add(index[member], index[label], "set")
        requisites = [[] for _ in self.chunks]
        for number, reqs in enumerate(self.requisites):
            own_check = checks.get(self.chunks[number].id)
            for kind, target in reqs:
                if kind is RequisiteKind.PREREQ:
                    node = checks[target]
                    requisites[index[target]].append(Requisite(RequisiteKind.PREREQUIRED, number))
                    dag.add(number, index[target], RequisiteKind.PREREQUIRED)
                else:
                    node = index[target]
                requisites[number].append(Requisite(kind, node))
                dag.add(node, number, kind)
                if own_check is not None:
                    dag.add(node, own_check, kind)
        for group, members in zip(group_nodes, self.groups, strict=True):
            for member in members:
                for before in list(dag.predecessors(index[member])):
                    if before != group:
                        dag.add(before, group, "group")
                dag.add(group, index[member], "group")
        chunks = tuple(self.chunks)
        for listener, targets in self.listeners:
            label = chunks[index[listener]].as_listener().tag
            nodes.append(Node(NodeKind.LISTENER, index[listener], tuple(index[target] for target in targets), label))
            rank.append(max(rank, default=0) + 1)
            dag.add_node()
        return Plan(
            chunks=chunks,
            nodes=tuple(nodes),
            requisites=tuple(tuple(reqs) for reqs in requisites),
            rank=tuple(rank),
            dag=dag,
            rows=self.rows,
            digest=plan_digest(chunks, tuple(nodes), dag),
        )
