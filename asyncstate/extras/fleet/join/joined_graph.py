"""The graph of all states of all hosts: its cycles, and the order of states in lanes.

Barriers (``fleet_order``) are nodes: an edge leads from each state of one number, on any host, to a barrier, and from
there to each state of the next number.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from asyncstate.errors import CycleError, Issue
from asyncstate.extras.fleet.join.targets import SHOWN, file_of
from asyncstate.extras.fleet.protocol import ORDER, TESTED
from asyncstate.model.dag import Dag
from asyncstate.model.requisite import RequisiteKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from asyncstate.extras.fleet.join.targets import Need, Place
    from asyncstate.extras.fleet.protocol import HostPlan, State

_IMPLICIT = (
    "A host keeps the order of states that touch the same things, are in one group or have an 'order', as if it were "
    "alone. Where that closes a cycle, say otherwise: with a requisite, 'aggregate: False' or 'footprint:'."
)
_PREREQ, _PREREQUIRED, _LISTEN = (
    each.value for each in (RequisiteKind.PREREQ, RequisiteKind.PREREQUIRED, RequisiteKind.LISTEN)
)
REQUISITES = frozenset(kind.value for kind in RequisiteKind)
_SAID = REQUISITES | {ORDER}


def ordered_states(plans: Mapping[str, HostPlan]) -> dict[int, list[Place]]:
    """Return the states with a ``fleet_order``, by that number, which rises."""
    found: dict[int, list[Place]] = {}
    for host, plan in plans.items():
        for chunk, order in plan.orders:
            found.setdefault(order, []).append((host, chunk))
    return dict(sorted(found.items()))


class JoinedGraph:
    """All nodes of all hosts under numbers of their own, and the edges between them."""

    def __init__(self, plans: Mapping[str, HostPlan], needs: Iterable[Need]) -> None:
        self._plans = plans
        self._first: dict[str, int] = {}
        self._checks: dict[Place, int] = {}
        self._dag = Dag(0)
        size = 0
        for host, plan in plans.items():
            self._first[host] = size
            self._checks |= {(host, chunk): size + node for chunk, node in plan.checks}
            size += plan.nodes
        self._dag = Dag(size)
        for host, plan in plans.items():
            first = self._first[host]
            for before, after, sources in plan.each_edge():
                for source in sources:
                    self._dag.add(first + before, first + after, source)
        needs = list(needs)
        for need in needs:
            if need.kind == _PREREQ:
                for target in need.targets:
                    self._require_check(target)
        for need in needs:
            self._add(need)
        self.ordered: dict[int, list[Place]] = ordered_states(plans)
        """The states of all hosts by their ``fleet_order``, which rises."""
        for earlier, later in itertools.pairwise(self.ordered.values()):
            barrier = self._dag.add_node()
            for state in earlier:
                self._dag.add(self._node(state), barrier, ORDER)
            for state in later:
                self._dag.add(barrier, self._node(state), ORDER)

    def _node(self, place: Place) -> int:
        return self._first[place[0]] + place[1]

    def _require_check(self, target: Place) -> None:
        if target in self._checks:
            return
        check = self._checks[target] = self._dag.add_node()
        node = self._node(target)
        for before in list(self._dag.predecessors(node)):
            for source in self._dag.sources(before, node):
                if source not in TESTED:
                    self._dag.add(before, check, source)

    def _add(self, need: Need) -> None:
        if need.kind == _LISTEN:
            return
        node, own_check = self._node(need.of), self._checks.get(need.of)
        for target in need.targets:
            before = self._node(target)
            if need.kind == _PREREQ:
                self._dag.add(node, before, _PREREQUIRED)
                before = self._checks[target]
            self._dag.add(before, node, need.kind)
            if own_check is not None:
                self._dag.add(before, own_check, need.kind)

    def require_no_cycle(self) -> None:
        """Raise CycleError with a shortest cycle, if there is one."""
        if len(self._dag.topological_order(lambda node: node)) == self._dag.size:
            return
        links = list(self._links(self._dag.find_cycle()))
        lines = [
            f"{self._named(after)} waits for {self._named(before)} ({', '.join(why)})"
            for after, before, why in links[:SHOWN]
        ]
        if len(links) > SHOWN:
            lines.append(f"… and {len(links) - SHOWN} more")
        if not all(_SAID.intersection(why) for _, _, why in links):
            lines.append(_IMPLICIT)
        last = links[0][0]
        message = "Recursive requisites were found across hosts"
        hint = "\n    ".join(["the shortest cycle:", *lines])
        file, line = file_of(last[0], self._state(last).file), self._state(last).line
        raise CycleError([Issue(message, file, line, hint, code="E307")])

    def queues(self, turn: Mapping[str, int], places: Mapping[str, int]) -> Iterator[tuple[Place, Place]]:
        """Yield pairs of states of one lane: the second begins when the first has ended. Each pair comes once.

        The states of a lane are numbered in one topological order of the whole graph, hosts with an earlier ``turn``
        first. Each waits for the one ``places`` numbers before it: so at most ``places`` states of a lane run at once,
        and no edge leads backwards. Call it for a graph without a cycle.
        """
        lanes: dict[str, list[Place]] = {}
        wanted: dict[int, list[tuple[str, Place]]] = {}
        for host, plan in self._plans.items():
            for chunk, lane in plan.lanes:
                wanted.setdefault(self._first[host] + chunk, []).append((lane, (host, chunk)))
        if not wanted:
            return
        keys = [(-1, -1)] * self._dag.size
        for host, plan in self._plans.items():
            first = self._first[host]
            keys[first : first + len(plan.states)] = [(turn[host], chunk) for chunk in range(len(plan.states))]
        for node in self._dag.topological_order(keys.__getitem__):
            for lane, place in wanted.get(node, ()):
                lanes.setdefault(lane, []).append(place)
        pairs: dict[tuple[Place, Place], None] = {}
        for lane, queue in sorted(lanes.items()):
            pairs |= dict.fromkeys(zip(queue, queue[places.get(lane, 1) :], strict=False))
        yield from pairs

    def _named(self, place: Place) -> str:
        return f"{place[0]}: {self._state(place).place}"

    def _state(self, place: Place) -> State:
        return self._plans[place[0]].states[place[1]]

    def _links(self, cycle: list[int]) -> Iterator[tuple[Place, Place, list[str]]]:
        """Yield the links of a cycle: a state, the state that it waits for, and why. Other nodes are left out."""
        places = {check: place for place, check in self._checks.items()}
        for host, plan in self._plans.items():
            places |= {self._first[host] + chunk: (host, chunk) for chunk in range(len(plan.states))}
        start = next((number for number, node in enumerate(cycle) if node in places), 0)
        cycle = [*cycle[start:], *cycle[: start + 1]]
        before, why = cycle[0], list[str]()
        for node, after in itertools.pairwise(cycle):
            why += self._dag.sources(node, after)
            if after in places:
                shown = ("prereq" if each == _PREREQUIRED else each for each in why)
                yield places[after], places[before], list(dict.fromkeys(shown))
                before, why = after, []
