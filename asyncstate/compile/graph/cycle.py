"""Report a cycle: Salt's line with the cycle that Salt finds, then a shortest cycle with the place of each state.

All searches are iterative: a cycle of a hundred thousand states is reported like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.compile.graph.requisite_graph import KINDS, PREREQUIRED, SET_MEMBER
from asyncstate.model.dag import Dag
from asyncstate.model.plan import NodeKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.compile.findings import Findings
    from asyncstate.compile.graph.requisite_graph import RequisiteGraph
    from asyncstate.compile.low.lowstate import Draft

_SHOWN = 20
"""The number of links of a cycle that are shown. The rest is only counted."""

Link = tuple["Draft", str, "Draft"]
"""A state, the kind of its requisite, and the state it waits for."""


def report_cycle(graph: RequisiteGraph, findings: Findings) -> None:
    """Find and report the cycle of a graph that has one."""
    path, start = next(_cycles(graph))
    links = list(_links(graph, path[start:]))
    shown = [f"({_label(after)}, '{kind}', {_label(before)})" for after, kind, before in links[:_SHOWN]]
    if len(links) > _SHOWN:
        shown.append(f"… and {len(links) - _SHOWN} more")
    shortest = list(_links(graph, _shortest_cycle(graph)))
    places = [f"{after.place} waits for {before.place} ({kind})" for after, kind, before in shortest[:_SHOWN]]
    if len(shortest) > _SHOWN:
        places.append(f"… {len(shortest) - _SHOWN} more, and back to {shortest[0][2].place}")
    places += _of_its_own(shortest, findings)
    findings.cyclic = True
    file, line = shortest[0][0].file, shortest[0][0].line
    message = f"Recursive requisites were found: {', '.join(shown)}"
    findings.error_at("E307", message, file, line, "\n    ".join(["the shortest cycle:", *places]))


def _of_its_own(links: list[Link], findings: Findings) -> list[str]:
    """Return a line that explains a requisite by which a state waits for itself; none for longer cycles."""
    if len(links) != 1:
        return []
    [(draft, kind, _)] = links
    if draft.id in findings.shared_requisites:
        each = f"so each of its states has it, {draft.state} too: write it under the state that is to wait"
        return [f"'{kind}' stands directly under ID '{draft.id}', {each}"]
    means = "An ID alone, or a name, means all states that have it: give the other one an ID of its own, and name that"
    return [f"'{kind}' names {draft.state}: {draft.id} itself. {means}"]


def open_cycles(graph: RequisiteGraph) -> None:
    """Drop the edges that close cycles, so that the states have an order in which to look for other mistakes."""
    closing: dict[int, set[int]] = {}
    for path, start in _cycles(graph):
        closing.setdefault(path[-1], set()).add(path[start])
    for node, dropped in closing.items():
        kept = [edge for edge in graph.edges_from(node) if edge[0] not in dropped]
        graph.after[node], graph.kinds[node] = [after for after, _ in kept], [kind for _, kind in kept]


def _cycles(graph: RequisiteGraph) -> Iterator[tuple[list[int], int]]:
    """Yield the paths of a depth-first search that end in a cycle, and where in the path that begins.

    The search follows nodes and edges in the order they were added. It goes on with the same list.
    """
    finished: set[int] = set()
    for start in range(len(graph.chunk)):
        path: list[int] = []
        place: dict[int, int] = {}
        pending: list[Iterator[int]] = [iter((start,))]
        while pending:
            node = next(pending[-1], None)
            if node is None:
                pending.pop()
                if path:
                    done = path.pop()
                    del place[done]
                    finished.add(done)
            elif node in place:
                yield path, place[node]
            elif node not in finished:
                place[node] = len(path)
                path.append(node)
                pending.append(iter(graph.after[node]))


def _shortest_cycle(graph: RequisiteGraph) -> list[int]:
    dag = Dag(len(graph.chunk))
    for node, targets in enumerate(graph.after):
        for target in targets:
            dag.add(node, target, "")
    return dag.find_cycle()


def _links(graph: RequisiteGraph, cycle: list[int]) -> Iterator[Link]:
    """Yield the links of a cycle of nodes, without its sets."""
    for position, node in enumerate(cycle):
        if graph.kind[node] is NodeKind.SET:
            continue
        after = cycle[(position + 1) % len(cycle)]
        kind = _kind(graph, node, after)
        if kind == SET_MEMBER:
            dependent = cycle[(position + 2) % len(cycle)]
            kind, after = _kind(graph, after, dependent), dependent
        yield _draft(graph, after), "prereq" if kind == PREREQUIRED else KINDS[kind].value, _draft(graph, node)


def _kind(graph: RequisiteGraph, before: int, after: int) -> int:
    return graph.kinds[before][graph.after[before].index(after)]


def _draft(graph: RequisiteGraph, node: int) -> Draft:
    return graph.drafts[graph.chunk[node]]


def _label(draft: Draft) -> str:
    label = {"SLS": draft.sls, "ID": draft.id}
    if draft.name != draft.id:
        label["NAME"] = draft.name
    return str(label)
