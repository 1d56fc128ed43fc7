"""The search in this process, for trees that touch one folder only, which is restored before every run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import anyio.to_thread

from asyncstate.extras.proof.shake.orders import Orders
from asyncstate.extras.proof.shake.outcome import Outcome, entries
from asyncstate.extras.proof.shake.report import result_lines
from asyncstate.extras.proof.shake.search import Result, search

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from asyncstate.model.plan import Plan


class Report(Protocol):
    """The report of a run."""

    @property
    def repeatable_rows(self) -> dict[str, Any]:
        """The rows by tag, without what differs in every run."""

    @property
    def cancelled(self) -> str:
        """The reason of a cancellation, "" if it was not cancelled."""

    @property
    def not_started(self) -> tuple[str, ...]:
        """The tags of the states that did not start."""

    @property
    def failed(self) -> list[str]:
        """The tags of the states that failed."""


async def missing_orders(
    plan: Plan, root: str, prepare: Callable[[], None], run: Callable[[tuple[int, ...]], Awaitable[Report]]
) -> Sequence[str]:
    """Return lines with the two states of each missing edge, or the reason if the search broke off; else none."""
    result = await shake_in_process(plan, root, prepare, run)
    if result.broken_off:
        return [result.broken_off]
    return list(result_lines(plan, result)) if result.found else []


async def shake_in_process(
    plan: Plan,
    root: str,
    prepare: Callable[[], None],
    run: Callable[[tuple[int, ...]], Awaitable[Report]],
    *,
    ignore: tuple[str, ...] = (),
) -> Result:
    """Search a plan for missing edges. ``prepare`` restores the folder ``root`` to its state at compilation.

    ``run`` runs the plan at one slot with a priority. The states must touch nothing outside of ``root``.
    """
    orders = Orders(plan)
    searching = search(plan, ignore=ignore)
    try:
        batch = next(searching)
        while True:
            outcomes = []
            for order in batch.orders:
                await anyio.to_thread.run_sync(prepare)
                report = await run(orders.priority(order))
                found = await anyio.to_thread.run_sync(entries, root)
                paths = {root + path.rstrip("/"): entry for path, entry in found.items()}
                outcomes.append(Outcome(report.repeatable_rows, dict(paths), ended_early(report)))
            batch = searching.send(tuple(outcomes))
    except StopIteration as end:
        result: Result = end.value
        return result


def ended_early(report: Report) -> str:
    """Return the reason why a run did not reach all its states; "" if it did."""
    if report.cancelled:
        return report.cancelled
    if report.not_started:
        return f"a state with failhard failed: {', '.join(report.failed[:1])}"
    return ""
