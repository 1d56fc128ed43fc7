"""The joined graph of many hosts: their plans, and the edges between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate import extend
from asyncstate.extras.fleet.protocol import LANE, ORDER
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind
from asyncstate.report.summary import describe_tag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.extras.fleet.protocol import Go, HostPlan

_JOINT = "·"
"""The label of a set, a stage or a group: hosts publish such nodes without a description."""


class _Nodes:
    """The nodes of all hosts, numbered one host after the other."""

    def __init__(self, plans: Mapping[str, HostPlan]) -> None:
        self.picture: Any = extend.provided("pictures", "fleet graph").blank_picture()
        self._first: dict[str, int] = {}
        self._labels = {host: [describe_tag(each.tag) for each in plan.states] for host, plan in plans.items()}
        self._beside: dict[tuple[str, int, NodeKind], int] = {}
        for host, plan in plans.items():
            self._first[host] = len(self.picture.nodes)
            labels = self._labels[host]
            for label, each in zip(labels, plan.states, strict=True):
                self.picture.add(label, NodeKind.CHUNK, host, each.where)
            checks = {node: chunk for chunk, node in plan.checks}
            for node in range(len(labels), plan.nodes):
                chunk = checks.get(node)
                kind = NodeKind.SET if chunk is None else NodeKind.CHECK
                added = self.picture.add(_JOINT if chunk is None else f"check {labels[chunk]}", kind, host)
                if chunk is not None:
                    self._beside[host, chunk, NodeKind.CHECK] = added

        self._barriers: dict[int, int] = {}

    def node(self, host: str, number: int) -> int:
        return self._first[host] + number

    def barrier(self, host: str, order: int) -> int:
        """Return the node of a barrier, one for all hosts, drawn with the first host that has it."""
        if order not in self._barriers:
            self._barriers[order] = self.picture.add(f"fleet_order {order}", NodeKind.STAGE, host)
        return self._barriers[order]

    def beside(self, host: str, chunk: int, kind: NodeKind) -> int:
        """Return the node of a test-mode call or a listener, made if another host waits for one that the plan lacks."""
        found = self._beside.get((host, chunk, kind))
        if found is None:
            word = "check " if kind is NodeKind.CHECK else "listen "
            found = self.picture.add(f"{word}{self._labels[host][chunk]}", kind, host)
            self._beside[host, chunk, kind] = found
        return found


def picture_of(plans: Mapping[str, HostPlan], goes: Mapping[str, Go]) -> Any:
    """Return the graph of the joined hosts: ``goes`` have the edges between them."""
    joined = {host: plans[host] for host in sorted(goes)}
    nodes = _Nodes(joined)
    sources: dict[tuple[int, int], list[str]] = {}
    for host, plan in joined.items():
        for before, after, why in plan.each_edge():
            sources.setdefault((nodes.node(host, before), nodes.node(host, after)), []).extend(why)
    for pair, each in sources.items():
        nodes.picture.join(*pair, tuple(dict.fromkeys(each)))
    across: dict[tuple[int, int], list[str]] = {}
    for host in joined:
        for wait in goes[host].waits:
            for remote in (goes[host].remote[place] for place in wait.remote):
                before = (
                    nodes.beside(remote.host, remote.chunk, NodeKind.CHECK)
                    if remote.check
                    else nodes.node(remote.host, remote.chunk)
                )
                after = (
                    nodes.beside(host, wait.chunk, NodeKind.LISTENER)
                    if wait.kind == RequisiteKind.LISTEN
                    else nodes.node(host, wait.chunk)
                )
                across.setdefault((before, after), []).append(wait.kind)
        _add_order(across, nodes, host, goes[host])
    for pair, kinds in across.items():
        nodes.picture.join(*pair, tuple(dict.fromkeys(kinds)), across=True)
    return nodes.picture


def _add_order(edges: dict[tuple[int, int], list[str]], nodes: _Nodes, host: str, go: Go) -> None:
    """Add the edges of lanes and barriers."""
    for after, before in go.follows:
        edges.setdefault((nodes.node(host, before), nodes.node(host, after)), []).append(LANE)
    for after, place in go.remote_follows:
        remote = go.remote[place]
        edges.setdefault((nodes.node(remote.host, remote.chunk), nodes.node(host, after)), []).append(LANE)
    for barrier in go.barriers:
        node = nodes.barrier(host, barrier.order)
        for before in barrier.before:
            edges.setdefault((nodes.node(host, before), node), []).append(ORDER)
        for after in barrier.after:
            edges.setdefault((node, nodes.node(host, after)), []).append(ORDER)


def graph_data(plans: Mapping[str, HostPlan], goes: Mapping[str, Go], *, every_edge: bool = True) -> dict[str, Any]:
    """Return ``{nodes: [{id, host, kind, label, tag, sls, file, line}], edges: [{before, after, sources, family}]}``.

    Only states have the fields after the label.
    """
    picture = picture_of(plans, goes)
    edges_shown = picture.edges if every_edge else picture.reduced().edges
    nodes: list[dict[str, Any]] = []
    states = {host: iter(plans[host].states) for host in goes}
    for number, point in enumerate(picture.nodes):
        data: dict[str, Any] = {"id": number, "host": point.host, "kind": point.kind.name.lower(), "label": point.label}
        if point.kind is NodeKind.CHUNK:
            state = next(states[point.host])
            data |= {"tag": state.tag, "sls": state.sls, "file": state.file, "line": state.line}
        nodes.append(data)
    edges = [
        {"before": edge.before, "after": edge.after, "sources": edge.sources, "family": edge.family}
        for edge in edges_shown
    ]
    return {"nodes": nodes, "edges": edges}
