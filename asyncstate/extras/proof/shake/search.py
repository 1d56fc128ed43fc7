"""The search for missing edges, without I/O: it yields orders to run, and is sent the outcome of each run.

It is sent None for a run that was not made. Then it asks for no more runs, and returns its findings so far.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from asyncstate.extras.proof.shake.orders import Order, Orders, Pair, culprits
from asyncstate.extras.proof.shake.outcome import Difference, Entry, Outcome, Tolerance, differences

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence

    from asyncstate.model.plan import Plan

    _Outcomes = Sequence[Outcome | None]


class Batch(NamedTuple):
    """Orders that may run concurrently, in separate places.

    ``why`` is ``serial``, ``delay``, or ``narrow``: to find the two states of a difference that a delay has shown.
    ``left`` is the largest number of delays after these, and ``found`` the findings so far.
    """

    orders: tuple[Order, ...]
    why: str
    left: int
    found: tuple[Unordered, ...] = ()


class Unordered(msgspec.Struct, frozen=True):
    """Two nodes without an order, and the differences if the later one runs first.

    A delay of the node ``delayed`` showed it. In ``order`` they are exchanged, and little else.
    """

    pair: Pair
    delayed: int
    order: Order
    differences: tuple[Difference, ...]


class Unexplained(msgspec.Struct, frozen=True):
    """A node whose delay made a run differ. The search was cut off before the other node was known."""

    delayed: int
    differences: tuple[Difference, ...]


class Result(msgspec.Struct, frozen=True):
    """The end of a search: the pairs found, the number of delayed nodes, and of runs.

    ``random`` are differences between two serial runs, which were not compared. ``broken_off`` is the reason why a
    serial run ended early; then no node was delayed, as there is nothing to compare with. ``complete`` is false if the
    search was cut off; then ``untried`` is the number of nodes not delayed yet.
    """

    found: tuple[Unordered, ...] = ()
    delayed: int = 0
    runs: int = 0
    random: tuple[Difference, ...] = ()
    broken_off: str = ""
    unexplained: tuple[Unexplained, ...] = ()
    untried: int = 0
    complete: bool = True


def search(
    plan: Plan,
    *,
    only: Collection[int] | None = None,
    ignore: tuple[str, ...] = (),
    base: Callable[[str], Entry | None] = lambda _path: None,
    at_once: int = 1 << 30,
) -> Generator[Batch, _Outcomes, Result]:
    """Find all pairs of nodes without an order whose order matters, as far as one delayed node can show it.

    ``only`` delays the nodes of these chunks. ``ignore`` are patterns of paths that may differ. ``base`` returns
    a path's entry before any run. ``at_once`` delays are tried before their differences are explained.
    """
    return (yield from _Search(plan, ignore, base).all(only, at_once))


class _CutOffError(Exception):
    """A run that the search needs will not be made."""


class _Search:
    def __init__(self, plan: Plan, ignore: tuple[str, ...], base: Callable[[str], Entry | None]) -> None:
        self._plan = plan
        self._base = base
        self._orders = Orders(plan)
        self._tolerance = Tolerance(ignore)
        self._serial = Outcome({}, {})
        self._known: dict[Order, list[Difference]] = {}
        self._found: list[Unordered] = []
        self._suspects: dict[int, Order] = {}
        self._runs = self._left = 0
        self._is_cut_off = False

    def all(self, only: Collection[int] | None, at_once: int) -> Generator[Batch, _Outcomes, Result]:
        serial = self._orders.serial
        nodes = [node for node in serial if self._is_wanted(node, only)]
        self._left = len(self._orders.every_delay(nodes))
        # A second serial run shows what is random; a plan that allows no other order has nothing to compare it with.
        first, *again = yield Batch((serial, serial) if self._left else (serial,), "serial", self._left)
        outcomes = [outcome for outcome in (first, *again) if outcome is not None]
        self._runs += len(outcomes)
        ended = next((outcome.ended for outcome in outcomes if outcome.ended), "")
        if ended:
            return Result(runs=self._runs, broken_off=ended)
        if len(outcomes) < 1 + len(again):
            return Result(runs=self._runs, untried=self._left, complete=False)
        self._serial = outcomes[0]
        random = self._tolerance.learn(differences(outcomes[0], outcomes[-1], self._base))
        self._known[serial] = []
        yield from self._try_all(nodes, at_once)
        unexplained = [Unexplained(node, tuple(self._known[order])) for node, order in self._suspects.items()]
        untried = self._left if self._is_cut_off else 0
        return Result(
            tuple(self._found),
            len(nodes) - untried,
            self._runs,
            tuple(random),
            unexplained=tuple(unexplained),
            untried=untried,
            complete=not self._is_cut_off,
        )

    def _is_wanted(self, node: int, only: Collection[int] | None) -> bool:
        return only is None or not set(only).isdisjoint(self._plan.chunks_of(node))

    def _try_all(self, nodes: Iterable[int], at_once: int) -> Generator[Batch, _Outcomes, None]:
        """Try every delay in batches, and explain the differences of each batch before the next one."""
        delays: dict[Order, int] = {}
        for node in nodes:
            order = self._orders.delayed(node)
            if order not in self._known:
                delays.setdefault(order, node)
            if len(delays) == at_once:
                yield from self._try(delays)
                delays = {}
        yield from self._try(delays)

    def _try(self, delays: Mapping[Order, int]) -> Generator[Batch, _Outcomes, None]:
        yield from self._run(tuple(delays), "delay", max(0, self._left - len(delays)))
        tried = [(node, order) for order, node in delays.items() if order in self._known]
        self._left = max(0, self._left - len(tried))
        self._suspects.update((node, order) for node, order in tried if self._known[order])
        for node in tuple(self._suspects):
            with suppress(_CutOffError):
                yield from self._explain(node)
                del self._suspects[node]

    def _explain(self, node: int) -> Generator[Batch, _Outcomes, None]:
        """Find all pairs that make the run with a delayed node differ."""
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
            self._found.append(Unordered(pair, node, exchanged, tuple(self._known[exchanged])))
            self._orders.keep(pair)

    def _differs(self, order: Order) -> Generator[Batch, _Outcomes, bool]:
        yield from self._run((order,), "narrow", self._left)
        if order not in self._known:
            raise _CutOffError
        return bool(self._known[order])

    def _run(self, orders: tuple[Order, ...], why: str, left: int) -> Generator[Batch, _Outcomes, None]:
        new = tuple(order for order in orders if order not in self._known)
        if not new or self._is_cut_off:
            return
        outcomes = yield Batch(new, why, left, tuple(self._found))
        for order, outcome in zip(new, outcomes, strict=True):
            if outcome is None:
                self._is_cut_off = True
            else:
                self._runs += 1
                self._known[order] = self._tolerance.beyond(differences(self._serial, outcome, self._base))
