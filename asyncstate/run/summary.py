"""The report of a run, made from its rows."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any

from asyncstate.model.requisite import RequisiteKind
from asyncstate.model.result import STATE_RAN, RunReport
from asyncstate.run.rows import number_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row
    from asyncstate.run.recorder import Recorder


def summarise(
    plan: Plan,
    recorder: Recorder,
    check_ranks: Mapping[int, int],
    not_started: list[int],
    *,
    cut_short: bool,
    **fields: Any,
) -> RunReport:
    """Number the rows and return the report of a run. ``not_started`` are the nodes that were not started.

    ``check_ranks`` is the rank of the prereq check of each chunk that its check skipped. ``fields`` are the other
    fields of the report.
    """
    broken = {} if cut_short else _broken_listeners(plan, recorder.rows)
    rows = number_rows(plan, {**recorder.rows, **broken}, recorder.subs, check_ranks)
    tags = dict.fromkeys(plan.chunk_of(node).tag for node in not_started)
    return RunReport(
        rows=rows,
        not_started=tuple(tag for tag in tags if tag not in rows),
        handled=_handled_failures(plan, recorder.rows),
        digest=plan.digest,
        busy_ms=round(sum(row["duration"] for row in rows.values() if isinstance(row.get("duration"), float)), 3),
        **fields,
    )


def untold(plan: Plan, recorder: Recorder, report: RunReport) -> tuple[dict[str, Row], tuple[int, ...]]:
    """Return the rows of a report that its events do not contain, and `RunFinished.order`."""
    rows, subs = recorder.rows, recorder.subs
    tags = [tag for parent in rows for tag in (parent, *subs.get(parent, ()))] if subs else list(rows)
    once = {tag for tag, times in Counter(tags).items() if times == 1} if subs else rows.keys()
    others = {tag: row for tag, row in report.rows.items() if tag not in once or tag in plan.rows}
    place = dict(zip(dict.fromkeys((*tags, *others)), count(), strict=False))
    order = tuple(map(place.__getitem__, report.rows))
    return others, () if order == tuple(range(len(order))) else order


def _broken_listeners(plan: Plan, rows: Mapping[str, Row]) -> dict[str, Row]:
    """Return the rows of missing listeners that would have been called."""
    return {
        listener.tag: dict(listener.row)
        for listener in plan.broken_listeners
        if any(rows.get(plan.chunks[target].tag, _UNCHANGED)["changes"] for target in listener.targets)
    }


_UNCHANGED: Row = {"changes": {}}


def _handled_failures(plan: Plan, rows: Mapping[str, Row]) -> tuple[str, ...]:
    """Return the tags of failures with ``onfail_stop: false`` handlers that all ran and succeeded."""
    verdicts: dict[str, list[bool]] = {}
    for chunk in plan.chunks:
        if chunk.args.get("onfail_stop") is not False:
            continue
        row = rows.get(chunk.tag)
        good = row is not None and row["result"] is True and row.get(STATE_RAN, True)
        for requisite in plan.requisites[chunk.index]:
            if requisite.kind.family is not RequisiteKind.ONFAIL:
                continue
            for node in plan.nodes[requisite.node].members or (requisite.node,):
                if plan.nodes[node].chunk >= 0:
                    verdicts.setdefault(plan.chunks[plan.nodes[node].chunk].tag, []).append(bool(good))
    return tuple(tag for tag, goods in verdicts.items() if all(goods) and tag in rows and rows[tag]["result"] is False)
