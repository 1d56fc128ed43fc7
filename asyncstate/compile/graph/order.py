"""Serial order: exactly the order in which Salt 3008 would run the chunks.

Kahn's algorithm with a heap. A node's key is ``(effective order, own order, module + name + function, tag)``. The
effective order is the smallest of its own order and those of its *direct* dependents. Salt visits the dependents in the
order the edges were added, and ignores one whose kind of requisite weighs less than that of one visited before.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import heapify, heappop, heappush
from itertools import accumulate
from math import isnan
from typing import TYPE_CHECKING, Any

from asyncstate.compile.graph.requisite_graph import PREREQUIRED, REQUIRE, SET_MEMBER
from asyncstate.compile.low.lowstate import UNSET
from asyncstate.model.plan import NodeKind
from asyncstate.nearest import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from asyncstate.compile.findings import Findings
    from asyncstate.compile.graph.requisite_graph import RequisiteGraph
    from asyncstate.compile.low.lowstate import Draft

LAST = 1_000_000
"""The distance of ``last`` from the cap; negative orders count down from there."""

_LARGEST = 10**300
"""Orders beyond count as this one: sums of it and what is added to orders are floats still."""

_INFINITY = float("inf")
_FIRST_WEIGHT = -1

Key = tuple[float, float, str, str]


def order_cap(drafts: Sequence[Draft]) -> int:
    """Return the order of states without one: 100 above the largest there is (a bool counts as a number)."""
    cap = 1
    for draft in drafts:
        order = draft.order
        if isinstance(order, int) and order > cap - 1:
            cap = order + 100
    return cap


def is_order(order: Any) -> bool:
    """Whether an ``order`` is valid. An invalid one counts as none."""
    if isinstance(order, str):
        return order in {"first", "last"}
    return order is UNSET or isinstance(order, int) or (isinstance(order, float) and not isnan(order))


def settle_orders(drafts: Sequence[Draft], findings: Findings) -> None:
    """Make finite numbers of orders that are numbers; warn of every invalid ``order``, and ignore it."""
    for draft in drafts:
        if is_order(draft.order):
            draft.order = _finite(draft.order)
        elif not draft.automatic:
            message = f"order '{draft.order}' of state '{draft.id}' in SLS '{draft.sls}' is no order and is ignored"
            hint = did_you_mean(nearest(str(draft.order), ("first", "last"))) or "write a number, first or last"
            findings.warn_at("W206", message, draft.file, draft.line, hint)
            draft.automatic = True


def _finite(order: Any) -> Any:
    if isinstance(order, float):
        return max(-float(_LARGEST), min(float(_LARGEST), order))
    return max(-_LARGEST, min(_LARGEST, int(order))) if isinstance(order, int) else order  # a bool is one, too


class SerialOrder:
    """Keys and order of the nodes of one graph. ``own[n]`` is the order of draft n, once its key was computed."""

    def __init__(self, graph: RequisiteGraph) -> None:
        self._graph = graph
        self.cap: int = order_cap(graph.drafts)
        self.own: list[float] = [0.0] * len(graph.drafts)
        self._raw: list[Any] = [draft.order for draft in graph.drafts]
        self._settled = bytearray(len(graph.drafts))
        self._has_sets = bool(graph.members)
        self._set_orders: dict[int, tuple[list[int], list[float]]] = {}
        self.keys: dict[int, Key] = {}

    def sort(self) -> list[int]:
        """Return the chunk and check nodes in serial order; if the graph has a cycle, some are missing."""
        return kahn(self._graph, self._key)

    def sort_again(self) -> list[int]:
        """Sort again after groups were added with keys of their own. All other keys stay."""
        return kahn(self._graph, self.keys.__getitem__)

    def forget_keys(self) -> None:
        """Drop the keys, once nothing is sorted again: they hold two texts for each node."""
        self.keys.clear()

    def _key(self, node: int) -> Key:
        number = self._graph.chunk[node]
        draft = self._graph.drafts[number]
        own = self._settle(number)
        least = self._least_dependent(node)
        label = f"{draft.state}{draft.name}{draft.fun}"
        key = (min(own, least), own, label, draft.tag)
        self.keys[node] = key
        return key

    def _settle(self, number: int) -> float:
        """Return a draft's order as a number; computed once from words, ``names`` positions and negative numbers."""
        if self._settled[number]:
            return self.own[number]
        order = self._number(number)
        draft = self._graph.drafts[number]
        if draft.fraction:
            order += draft.fraction
        if order < 0:
            order += self.cap + LAST
        self._settled[number] = 1
        self.own[number] = self._raw[number] = order
        return order

    def _number(self, number: int) -> float:
        order = self._raw[number]
        if isinstance(order, (int, float)):
            return order
        if order == "last":
            return self.cap + LAST
        return 0 if order == "first" else self.cap

    def _seen_by_others(self, node: int) -> float:
        """Return the order of a dependent as Salt sees it: as written, even negative; infinity for none."""
        number = self._graph.chunk[node]
        order = self._raw[number]
        return _INFINITY if order is UNSET else self._number(number)

    def _least_dependent(self, node: int) -> float:
        if self._has_sets and SET_MEMBER in self._graph.kinds[node]:
            return self._least_through_sets(node)
        least = _INFINITY
        heaviest = _FIRST_WEIGHT
        for other, kind in self._graph.edges_from(node):
            weight = REQUIRE if kind == PREREQUIRED else kind
            if weight >= heaviest:
                heaviest = weight
                least = min(least, self._seen_by_others(other))
        return least

    def _least_through_sets(self, node: int) -> float:
        """Do the same where dependents wait for a set. Those of one set share a weight, so a prefix of them counts."""
        direct: list[tuple[int, int, int]] = []
        sets: list[tuple[int, int]] = []
        begins: dict[int, int] = {}
        for other, kind in self._graph.edges_from(node):
            if kind == SET_MEMBER:
                if not self._graph.after[other]:  # a cycle was opened there
                    continue
                weight = self._graph.kinds[other][0]
                position = self._position(self._graph.after[other][0], weight)
                sets.append((weight, other))
            else:
                weight = REQUIRE if kind == PREREQUIRED else kind
                position = self._position(node if kind == PREREQUIRED else other, kind)
                direct.append((weight, position, other))
            begins[weight] = min(position, begins.get(weight, position))
        least = _INFINITY
        for weight, position, other in direct:
            if not any(heavier > weight and begin < position for heavier, begin in begins.items()):
                least = min(least, self._seen_by_others(other))
        for weight, other in sets:
            cut = min((begin for heavier, begin in begins.items() if heavier > weight), default=-1)
            least = min(least, self._least_of_set(other, cut))
        return least

    def _least_of_set(self, set_node: int, cut: int) -> float:
        """Return the smallest order of a set's dependents that were added before ``cut`` (-1: of all)."""
        known = self._set_orders.get(set_node)
        if known is None:
            after = self._graph.after[set_node]
            kind = self._graph.kinds[set_node][0]
            placed = sorted((self._position(other, kind), self._seen_by_others(other)) for other in after)
            known = ([position for position, _ in placed], list(accumulate((order for _, order in placed), min)))
            self._set_orders[set_node] = known
        positions, smallest = known
        count = len(positions) if cut < 0 else bisect_left(positions, cut)
        return smallest[count - 1] if count else _INFINITY

    def _position(self, by: int, kind: int) -> int:
        """Return when the draft of ``by`` added an edge of a kind."""
        return self._graph.chunk[by] << 4 | kind


def kahn(graph: RequisiteGraph, key: Callable[[int], Any]) -> list[int]:
    """Sort the nodes of a graph. Sets are left out: their dependents become free with the last member."""
    waiting = graph.in_degrees()
    kinds, is_set = graph.kind, NodeKind.SET
    after = graph.after
    order: list[int] = []
    heap: list[tuple[Any, int]] = []
    for node, count in enumerate(waiting):
        if not count and kinds[node] is not is_set:
            heap.append((key(node), node))
    heapify(heap)
    while heap:
        node = heappop(heap)[1]
        order.append(node)
        free = [node]
        while free:
            for other in after[free.pop()]:
                waiting[other] -= 1
                if not waiting[other]:
                    if kinds[other] is is_set:
                        free.append(other)
                    else:
                        heappush(heap, (key(other), other))
    return order
