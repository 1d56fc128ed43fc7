"""The search for missing edges, without I/O: it yields orders to run, and is sent what each run left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from asyncstate.model.plan import NodeKind
from asyncstate.shake.orders import Order, Orders, Pair, culprits
from asyncstate.shake.outcome import Difference, Entry, Outcome, Tolerance, differences

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator

    from asyncstate.model.plan import Plan

Batch = tuple[Order, ...]
"""Orders that may run at the same time, each in a place of its own."""


class Unordered(msgspec.Struct, frozen=True):
    """Two nodes that nothing orders, and what is different if the later one runs first.

    A delay of the node ``delayed`` showed it. In ``order`` they are exchanged, and little else.
    """

    pair: Pair
    delayed: int
    order: Order
    differences: tuple[Difference, ...]


class Result(msgspec.Struct, frozen=True):
    """The end of a search: the pairs that were found, the number of nodes that were delayed, and of runs.

    ``random`` is what two serial runs do not agree on: it was not compared. ``broken_off`` says why a serial run ended
    early; then there is nothing to compare with, and no node was delayed.
    """

    found: tuple[Unordered, ...] = ()
    delayed: int = 0
    runs: int = 0
    random: tuple[Difference, ...] = ()
    broken_off: str = ""


def search(
    plan: Plan,
    *,
    only: Collection[int] | None = None,
    ignore: tuple[str, ...] = (),
    base: Callable[[str], Entry | None] = lambda _path: None,
) -> Generator[Batch, tuple[Outcome, ...], Result]:
    """Find all pairs of nodes that nothing orders and whose order matters, as far as one delayed node can show it.

    ``only`` delays the nodes of these chunks. ``ignore`` are patterns of paths that may differ. ``base`` looks at a
    path as it was before any run.
    """
    return (yield from _Search(plan, ignore, base).all(only))


class _Search:
    def __init__(self, plan: Plan, ignore: tuple[str, ...], base: Callable[[str], Entry | None]) -> None:
        self._plan = plan
        self._base = base
        self._orders = Orders(plan)
        self._tolerance = Tolerance(ignore)
        self._serial = Outcome({}, {})
        self._known: dict[Order, list[Difference]] = {}
        self._runs = 0

    def all(self, only: Collection[int] | None) -> Generator[Batch, tuple[Outcome, ...], Result]:
        serial = self._orders.serial
        self._serial, again = yield (serial, serial)
        self._runs += 2
        if self._serial.ended or again.ended:
            return Result(runs=2, broken_off=self._serial.ended or again.ended)
        random = self._tolerance.learn(differences(self._serial, again, self._base))
        self._known[serial] = []
        nodes = [node for node in serial if self._is_wanted(node, only)]
        delays = self._orders.every_delay(nodes)
        yield from self._run(tuple(delays))
        found: list[Unordered] = []
        for order, delayed in delays.items():
            if self._known[order]:
                yield from self._explain(delayed[0], found)
        return Result(tuple(found), len(nodes), self._runs, tuple(random))

    def _is_wanted(self, node: int, only: Collection[int] | None) -> bool:
        what = self._plan.nodes[node]
        members = [what.chunk] if what.kind is not NodeKind.GROUP else [self._plan.nodes[m].chunk for m in what.members]
        return only is None or not set(only).isdisjoint(members)

    def _explain(self, node: int, found: list[Unordered]) -> Generator[Batch, tuple[Outcome, ...], None]:
        """Find the pairs that make a run differ in which a node is delayed, until none is left."""
        serial = self._orders.serial
        while True:
            order = self._orders.delayed(node)
            if not (yield from self._differs(order)):
                return
            bisection = culprits(serial, order)
            try:
                tried = next(bisection)
                while True:
                    tried = bisection.send((yield from self._differs(tried)))
            except StopIteration as end:
                pair, exchanged = end.value
            found.append(Unordered(pair, node, exchanged, tuple(self._known[exchanged])))
            self._orders.keep(pair)

    def _differs(self, order: Order) -> Generator[Batch, tuple[Outcome, ...], bool]:
        yield from self._run((order,))
        return bool(self._known[order])

    def _run(self, batch: Batch) -> Generator[Batch, tuple[Outcome, ...], None]:
        new = tuple(order for order in batch if order not in self._known)
        if not new:
            return
        outcomes = yield new
        self._runs += len(new)
        for order, outcome in zip(new, outcomes, strict=True):
            self._known[order] = self._tolerance.beyond(differences(self._serial, outcome, self._base))
