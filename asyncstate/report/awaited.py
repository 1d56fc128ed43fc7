"""What each state of a plan waits for, as a trace links it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.model.plan import NodeKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asyncstate.model.plan import Plan

_STATES = (NodeKind.CHUNK, NodeKind.CHECK)
_PASSED = (NodeKind.SET, NodeKind.GROUP)

AnyNode = tuple[str, bool]
"""The tag of a state, and whether its test-mode call is meant."""


class Awaited(NamedTuple):
    """A state that another one waits for, and why: kinds of requisites, ``footprint``, ``group``."""

    node: AnyNode
    because: tuple[str, ...]


Waits = dict[AnyNode, list[Awaited]]


def waits_in(plan: Plan) -> Waits:
    """Return what each state waits for, directly or through the nodes of sets and groups.

    A stage of explicit order is left out: each state after it waits for each before it, which would be most pairs.
    """
    before: dict[int, list[tuple[int, tuple[str, ...]]]] = defaultdict(list)
    for earlier, later, sources, _ in plan.dag.joined():
        before[later].append((earlier, sources))
    found: Waits = {}
    for number, node in enumerate(plan.nodes):
        if node.kind in _STATES and number in before:
            awaited = [
                Awaited(_named(plan, earlier), sources) for earlier, sources in _states_before(plan, before, number)
            ]
            if awaited:
                found[_named(plan, number)] = awaited
    return found


def _named(plan: Plan, number: int) -> AnyNode:
    node = plan.nodes[number]
    return plan.chunks[node.chunk].tag, node.kind is NodeKind.CHECK


def _states_before(
    plan: Plan, before: dict[int, list[tuple[int, tuple[str, ...]]]], number: int
) -> Iterable[tuple[int, tuple[str, ...]]]:
    found: dict[int, tuple[str, ...]] = {}
    passed = {number}
    waiting = list(before[number])
    while waiting:
        earlier, sources = waiting.pop()
        kind = plan.nodes[earlier].kind
        if kind in _STATES:
            found[earlier] = tuple(dict.fromkeys(found.get(earlier, ()) + sources))
        elif kind in _PASSED and earlier not in passed:
            passed.add(earlier)
            waiting += ((each, sources) for each, _ in before.get(earlier, ()))
    return sorted(found.items())
