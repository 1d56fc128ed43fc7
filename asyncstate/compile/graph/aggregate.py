"""Aggregation as a rewrite of the graph: states that one ``mod_aggregate`` call may join wait for each other's needs.

The members of a group have one module and one order stage, no state of another stage stands between them, and no path
leads from one to another. In each module, every eligible state gets a level: the number of eligible states on the
longest path to it. States of one level form a group.
Salt builds the same groups; here one pass over the graph finds them instead of a search for each pair.

    what any member waits for ──▶ GROUP ──▶ first member ──▶ … ──▶ last member ──▶ what waits for any member
"""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from asyncstate.compile.graph.requisite_graph import GROUP_MEMBER
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import FLEET_LANE, FLEET_ORDER
from asyncstate.model.walk import edges_beyond
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from asyncstate.compile.findings import Findings
    from asyncstate.compile.graph.order import SerialOrder
    from asyncstate.compile.graph.requisite_graph import RequisiteGraph
    from asyncstate.compile.low.lowstate import Draft

ALONE = {
    "no_log": "it says no_log: the row of a common call would name it",
    "timeout": "its timeout is for its own call, not for that of others",
}
"""Why a state with one of these keywords does not join a common call."""

_ACROSS_HOSTS = {FLEET_ORDER, FLEET_LANE}

MAX_MEMBERS = 500
"""The size of the largest group, as in Salt."""


def why_alone(args: Mapping[str, Any]) -> str:
    """Return why a state with these arguments does not join a common call, "" if it may."""
    return next((why for keyword, why in ALONE.items() if args.get(keyword)), "")


def why_alone_in_fleet(args: Mapping[str, Any]) -> str:
    """Return the same for a run across hosts: a common call would do the work of states that must wait."""
    return why_alone(args) or ("its place is in an order across hosts" if _ACROSS_HOSTS & args.keys() else "")


def aggregate(
    graph: RequisiteGraph,
    order: SerialOrder,
    serial: list[int],
    stages: list[float] | None,
    *,
    option: Any,
    has_mod_aggregate: Callable[[str], bool],
    alone: Callable[[Mapping[str, Any]], str] = why_alone,
) -> tuple[list[int], dict[int, str]]:
    """Add the GROUP nodes. ``option`` is ``state_aggregate``; ``stages`` gets an entry for each group.

    ``alone(arguments)`` says why a state does not join a common call, "" if it may. Return the new serial order, and
    for eligible states without a group the reason.
    """
    refused: dict[int, str] = {}
    eligible = _eligible(graph, serial, option, has_mod_aggregate, refused, alone=alone)
    for module, numbers in eligible.items():
        grouped = _group_module(graph, serial, numbers, stages, refused)
        if not grouped:
            continue
        kept = set(serial)
        before = _predecessors(graph, {member for members in grouped for member in members})
        for members in reversed(grouped) if stages is None else ():  # it would pull them over states of other stages
            _pull_forward(graph, order, members)
        for members in grouped:
            group = _add_group(graph, members, before, f"{module} x {len(members)}")
            kept.add(group)
            order.keys[group] = min(order.keys[member] for member in members)
            if stages is not None:
                stages.append(min(stages[member] for member in members))
        serial = [node for node in order.sort_again() if node in kept]
    return serial, refused


def _eligible(
    graph: RequisiteGraph,
    serial: Sequence[int],
    option: Any,
    has_mod_aggregate: Callable[[str], bool],
    refused: dict[int, str],
    *,
    alone: Callable[[Mapping[str, Any]], str],
) -> dict[str, list[int]]:
    """Return the eligible states of each module in serial order, for modules that have more than one.

    A state's own ``aggregate`` wins over the option. Once one says True, later states of the module without an
    ``aggregate`` are eligible too.
    """
    found: dict[str, list[int]] = {}
    opened: set[str] = set()
    for node in serial:
        if graph.kind[node] is not NodeKind.CHUNK:
            continue
        draft = graph.drafts[node]
        module = draft.state
        if "aggregate" in draft.args:
            wanted = _wants(draft.args["aggregate"], draft)
            if wanted:
                opened.add(module)
        else:
            wanted = module in opened or _wants(option, draft)
        why = alone(draft.args)
        if wanted and why and has_mod_aggregate(module):
            refused[node] = why
        elif wanted and has_mod_aggregate(module):
            found.setdefault(module, []).append(node)
        elif wanted and (option is not True or "aggregate" in draft.args):
            refused[node] = f"{module} states cannot be aggregated: the module has no mod_aggregate"
        elif "aggregate" in draft.args and has_mod_aggregate(module):
            refused[node] = "its own 'aggregate' says no"
    for module, numbers in found.items():
        if len(numbers) == 1:
            refused[numbers[0]] = f"no other state of {module} may be aggregated"
    return {module: numbers for module, numbers in found.items() if len(numbers) > 1}


def warn_odd_options(
    drafts: Sequence[Draft], option: Any, findings: Findings, *, why_not: Callable[[str], str | None]
) -> None:
    """Warn of settings that, as in Salt, have no effect: a text, or a module that has no ``mod_aggregate``.

    ``why_not(module)`` returns what is wrong with a module that the option names, or None.
    """
    if isinstance(option, str):
        message, hint = _no_list("state_aggregate", option)
        findings.warn_at("W207", message, "", 0, hint)
    for module in option if isinstance(option, list) else ():
        wrong = why_not(module)
        if wrong:
            near = nearest(module, sorted({draft.state for draft in drafts} - {module}))
            hint = f"did you mean {near!r}?" if near else "name state modules, such as pkg"
            findings.warn_at("W207", f"state_aggregate: [{module}] has no effect: {wrong}", "", 0, hint)
    for draft in drafts:
        own = draft.args.get("aggregate")
        if isinstance(own, str):
            message, hint = _no_list(f"aggregate of {draft.id!r}", own)
            findings.warn("W207", message, env=draft.env, sls=draft.sls, id_=draft.id, state=draft.state, hint=hint)


def _no_list(what: str, text: str) -> tuple[str, str]:
    """Return what is wrong with a text, and the next step."""
    meant = text.lower() if text.lower() in {"true", "false"} else f"[{text}]"
    key = what.partition(" ")[0]
    return f"{what} is the text {text!r}, which has no effect (nor has it in Salt)", f"write {key}: {meant}"


def _wants(option: Any, draft: Draft) -> bool:
    """Whether an option includes this state: True, or a list with its module. As in Salt, a plain string does not."""
    return option is True or (isinstance(option, (list, tuple, set, dict)) and draft.state in option)


def _group_module(
    graph: RequisiteGraph,
    serial: Sequence[int],
    numbers: Sequence[int],
    stages: Sequence[float] | None,
    refused: dict[int, str],
) -> list[list[int]]:
    """Return the groups of one module, each in serial order."""
    levels, last = _levels(graph, serial, frozenset(numbers))
    places = _places(serial, stages) if stages is not None else {}
    classes: dict[tuple[int | None, int], list[list[int]]] = {}
    for number in numbers:
        parts = classes.setdefault((places.get(number), levels[number]), [[]])
        if len(parts[-1]) == MAX_MEMBERS:
            parts.append([])
        parts[-1].append(number)
    groups = []
    for parts in classes.values():
        for members in parts:
            if len(members) > 1:
                groups.append(members)
            else:
                refused[members[0]] = _why_alone(graph, members[0], last, full=len(parts) > 1)
    return groups


def _places(serial: Sequence[int], stages: Sequence[float]) -> dict[int, int]:
    """Return for each node how often the stage changes before it: what has one place is of one stage, side by side."""
    runs = groupby(serial, stages.__getitem__)
    return {node: place for place, (_, nodes) in enumerate(runs) for node in nodes}


def _levels(
    graph: RequisiteGraph, serial: Sequence[int], eligible: frozenset[int]
) -> tuple[list[int], dict[int, int | None]]:
    """Return for each node the number of eligible states on the longest path to it; and the last of them if any."""
    levels = [0] * len(graph.chunk)
    last: dict[int, int | None] = {}
    waiting = graph.in_degrees()
    open_sets = {node: waiting[node] for node in graph.members if graph.kind[node] is NodeKind.SET}

    def passed_on(node: int, level: int, source: int | None) -> None:
        stack = [(node, level, source)]
        while stack:
            node, level, source = stack.pop()
            for other in graph.after[node]:
                if level > levels[other]:
                    levels[other], last[other] = level, source
                if other in open_sets:
                    open_sets[other] -= 1
                    if not open_sets[other]:
                        stack.append((other, levels[other], last.get(other)))

    for node in serial:
        level, source = (levels[node] + 1, node) if node in eligible else (levels[node], last.get(node))
        if level or open_sets:
            passed_on(node, level, source)
    return levels, last


def _why_alone(graph: RequisiteGraph, node: int, last: dict[int, int | None], *, full: bool) -> str:
    if full:
        return f"its group is full ({MAX_MEMBERS} states)"
    source = last.get(node)
    if source is not None:
        return f"it depends on {graph.drafts[source].place}, and no other state does so at the same depth"
    return f"every other state of {graph.drafts[node].state} depends on it, or has another order"


def _predecessors(graph: RequisiteGraph, nodes: set[int]) -> dict[int, list[int]]:
    before: dict[int, list[int]] = {node: [] for node in nodes}
    for node, targets in enumerate(graph.after):
        for target in targets:
            if target in nodes:
                before[target].append(node)
    return before


def _pull_forward(graph: RequisiteGraph, order: SerialOrder, members: list[int]) -> None:
    """Move all members forward to the smallest key of their dependents, as in Salt."""
    joints = edges_beyond(members, graph.after.__getitem__, lambda node: node not in order.keys)
    needed = [order.keys[node] for _, node in joints]
    if needed:
        soonest = min(needed)
        for member in members:
            order.keys[member] = min(order.keys[member], soonest)


def _add_group(graph: RequisiteGraph, members: list[int], before: dict[int, list[int]], label: str) -> int:
    """Add one GROUP node: it waits for all that its members wait for, and they follow it one after the other.

    The first member does the work of all, so the others come behind it. As in Salt, a state that depends on one member
    waits for the last.
    """
    group = graph.add_node(NodeKind.GROUP)
    graph.members[group] = tuple(members)
    graph.label[group] = label
    for node in dict.fromkeys(node for member in members for node in before[member]):
        graph.add_edge(node, group, GROUP_MEMBER)
    last = members[-1]
    dependents = dict.fromkeys(node for member in members for node in graph.after[member])
    known = set(graph.after[last])
    for node in dependents:
        if node not in known:
            graph.add_edge(last, node, GROUP_MEMBER)
    for one, next_one in pairwise((group, *members)):
        graph.add_edge(one, next_one, GROUP_MEMBER)
    return group
