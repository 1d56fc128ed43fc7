"""Legal orders of a plan for one slot: the serial one, those with a delayed state, and those between two."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from asyncstate.model.plan import Plan

Order = tuple[int, ...]
"""Every node that one slot takes before the listeners, in the order in which it takes them."""


class Pair(NamedTuple):
    """Two nodes in serial order, which the plan does not order."""

    earlier: int
    later: int


class Orders:
    """The orders that a plan allows, less those that break a `Pair` found before."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._dag = plan.dag.copy()
        for before, after in chain.from_iterable(map(pairwise, plan.turns)):
            self._dag.add(before, after, "turn")
        self.serial: Order = self._order(plan.rank)

    def _order(self, priority: Sequence[int]) -> Order:
        nodes = self._plan.nodes
        # The machine passes what takes no time as soon as it is free.
        keys = [priority[number] if node.takes_time else -1 for number, node in enumerate(nodes)]
        return tuple(node for node in self._dag.topological_order(keys.__getitem__) if nodes[node].takes_a_slot)

    def delayed(self, node: int) -> Order:
        """Return the serial order with a node moved behind all nodes that do not depend on it."""
        rank = self._plan.rank
        return self._order([*rank[:node], max(rank) + 1, *rank[node + 1 :]])

    def every_delay(self, nodes: Iterable[int]) -> dict[Order, list[int]]:
        """Return the orders in which one of ``nodes`` is delayed, each once, with these nodes.

        The serial order is left out: such a delay shows nothing.
        """
        found: dict[Order, list[int]] = {}
        for node in nodes:
            order = self.delayed(node)
            if order != self.serial:
                found.setdefault(order, []).append(node)
        return found

    def keep(self, pair: Pair) -> None:
        """Keep the order of this pair in all orders from now on."""
        self._dag.add(pair.earlier, pair.later, "found")

    def priority(self, order: Order) -> tuple[int, ...]:
        """Return the priority with which one slot follows an order, as far as the graph allows it."""
        place = {node: number for number, node in enumerate(order)}
        return tuple(place.get(node, len(place) + rank) for node, rank in enumerate(self._plan.rank))


def culprits(good: Order, bad: Order) -> Generator[Order, bool, tuple[Pair, Order]]:
    """Find two nodes in their order in ``good`` whose exchange alone makes a run differ.

    Returns them and an order with the two exchanged. Both orders must be legal; so is each that is yielded. For each,
    send whether a run in it differs from one in ``good``: about ``2 * log2(len(good))`` runs.
    """
    # The first n nodes of `bad`, then the others as in `good`: the n-th node is the one that came too early.
    right, wrong = 0, len(bad)
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if (yield _merged(bad[:middle], good)):
            wrong = middle
        else:
            right = middle
    head, later = bad[:right], bad[right]
    # It came before all of these; going back behind one after the other, the last that it may not pass is the other.
    rest = [node for node in good if node not in {*head, later}]
    passed = [node for node in rest if good.index(node) < good.index(later)]
    first, last = 0, len(passed)
    while last - first > 1:
        middle = (first + last) // 2
        if (yield _merged((*head, *passed[:middle], later), good)):
            first = middle
        else:
            last = middle
    return Pair(passed[first], later), _merged((*head, *passed[:first], later), good)


def _merged(head: Order, order: Order) -> Order:
    first = set(head)
    return (*head, *(node for node in order if node not in first))
