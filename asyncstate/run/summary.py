"""From the rows of a run to its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.model.requisite import RequisiteKind
from asyncstate.model.result import RunReport
from asyncstate.run.rows import number_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row
    from asyncstate.run.recorder import Ledger


def summarise(
    plan: Plan, ledger: Ledger, early: Mapping[int, int], left_out: list[int], *, cut_short: bool, **said: Any
) -> RunReport:
    """Number the rows and say what became of the run. ``left_out`` are the nodes that were not started.

    ``early`` is the rank of the check of each chunk that was held back there. ``said`` is the rest of the report.
    """
    broken = {} if cut_short else _broken_listeners(plan, ledger.rows)
    rows = number_rows(plan, {**ledger.rows, **broken}, ledger.subs, early)
    tags = dict.fromkeys(plan.chunk_of(node).tag for node in left_out)
    return RunReport(
        rows=rows,
        not_started=tuple(tag for tag in tags if tag not in rows),
        handled=_handled_failures(plan, ledger.rows),
        digest=plan.digest,
        busy_ms=round(sum(row["duration"] for row in rows.values() if isinstance(row.get("duration"), float)), 3),
        **said,
    )


def _broken_listeners(plan: Plan, rows: Mapping[str, Row]) -> dict[str, Row]:
    """Return the rows of listeners that do not exist and would have been called."""
    return {
        listener.tag: dict(listener.row)
        for listener in plan.broken_listeners
        if any(rows.get(plan.chunks[target].tag, _UNCHANGED)["changes"] for target in listener.targets)
    }


_UNCHANGED: Row = {"changes": {}}


def _handled_failures(plan: Plan, rows: Mapping[str, Row]) -> tuple[str, ...]:
    """Failures with at least one ``onfail_stop: false`` handler, all of which ran and succeeded."""
    verdicts: dict[str, list[bool]] = {}
    for chunk in plan.chunks:
        if chunk.args.get("onfail_stop") is not False:
            continue
        row = rows.get(chunk.tag)
        good = row is not None and row["result"] is True and row.get("__state_ran__", True)
        for requisite in plan.requisites[chunk.index]:
            if requisite.kind.family is not RequisiteKind.ONFAIL:
                continue
            for node in plan.nodes[requisite.node].members or (requisite.node,):
                verdicts.setdefault(plan.chunks[plan.nodes[node].chunk].tag, []).append(bool(good))
    return tuple(tag for tag, goods in verdicts.items() if all(goods) and tag in rows and rows[tag]["result"] is False)
