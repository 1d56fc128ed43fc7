"""What a dry run foretells of each state: it changes something, others trigger it, or that cannot be told.

A row of a dry run says that a state would change something (its result is null), but not why it would be called. That
is in the plan: a state that waits for the changes of others is called only if they come true, and a command without a
condition is called in any case, whatever it does.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import CONDITIONS_BEFORE, RequisiteKind
from asyncstate.model.result import STATE_RAN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row, RunReport

_ONLY_IF = frozenset({RequisiteKind.ONCHANGES, RequisiteKind.PREREQ})
"""Families of requisites without whose changes a state is not called."""
_AWAITED = frozenset({RequisiteKind.ONCHANGES, RequisiteKind.WATCH})
"""Families of requisites that look for the changes of a state."""
_CALLS = frozenset({"cmd", "module"})
"""State modules that run what the tree says, and cannot look ahead."""


class Foretold(StrEnum):
    """What a dry run says of a state that it does not leave as it is."""

    CHANGE = "to change"
    """The state found something to do."""
    TRIGGERED = "triggered"
    """It would do something only because a state that it watches, listens to or depends on would change."""
    UNKNOWN = "cannot be told"
    """It would run a command, whatever that changes; or it waits for a state of which the dry run shows no changes."""


def forecast(report: RunReport, plan: Plan | None) -> dict[str, Foretold]:
    """Return what a dry run foretells, by tag; nothing of states that would stay as they are, or that failed.

    Without the plan, and of rows that are not in it, only what would change is known. Of a run that is no dry run,
    nothing is foretold.
    """
    if not report.test:
        return {}
    found = {tag: Foretold.CHANGE for tag, row in report.rows.items() if row["result"] is None}
    if plan is None:
        return found
    found.update({node.label: Foretold.TRIGGERED for node in plan.listeners if node.label in found})
    for chunk in plan.chunks:  # in serial order: what a state waits for comes before it
        row = report.rows.get(chunk.tag)
        if row is not None and (foretold := _foretold(chunk, row, plan, report.rows, found)):
            found[chunk.tag] = foretold
    return found


def _foretold(
    chunk: LowChunk, row: Row, plan: Plan, rows: Mapping[str, Row], found: Mapping[str, Foretold]
) -> Foretold | None:
    families = {requisite.kind.family for requisite in plan.requisites[chunk.index]}
    if row["result"] is None:
        if families & _ONLY_IF or (RequisiteKind.WATCH in families and _by_watching(chunk, row, plan, rows)):
            return Foretold.TRIGGERED
        return Foretold.UNKNOWN if chunk.state in _CALLS and not _has_condition(chunk.args) else None
    called = row.get(STATE_RAN, True)
    wanted = _AWAITED - {RequisiteKind.ONCHANGES} if called else _AWAITED
    if row["result"] is not True or row["changes"] or not families & wanted:
        return None
    targets = _targets(chunk, plan, wanted)
    return Foretold.UNKNOWN if any(_may_change(target, rows, found) for target in targets) else None


def _by_watching(chunk: LowChunk, row: Row, plan: Plan, rows: Mapping[str, Row]) -> bool:
    """Whether ``mod_watch`` made the row: the state itself found nothing to do, and what it watches would change."""
    if row["changes"] and not chunk.fun.startswith("wait"):
        return False
    return any(rows[tag]["changes"] for tag in _targets(chunk, plan, {RequisiteKind.WATCH}) if tag in rows)


def _may_change(tag: str, rows: Mapping[str, Row], found: Mapping[str, Foretold]) -> bool:
    """Whether a state may change something although its row shows no changes."""
    return tag in found and not rows[tag]["changes"]


def _has_condition(args: Mapping[str, Any]) -> bool:
    stateful = args.get("stateful")
    options = stateful if isinstance(stateful, list) else [stateful]
    tested = any(isinstance(option, dict) and "test_name" in option for option in options)
    return tested or any(args.get(name) for name in CONDITIONS_BEFORE)


def _targets(chunk: LowChunk, plan: Plan, families: Iterable[RequisiteKind]) -> Iterator[str]:
    """Yield the tags of the states of this host that the requisites of these families name."""
    for requisite in plan.requisites[chunk.index]:
        if requisite.kind.family in families:
            node = plan.nodes[requisite.node]
            for number in node.members if node.kind is NodeKind.SET else (requisite.node,):
                if (index := plan.nodes[number].chunk) >= 0:
                    yield plan.chunks[index].tag


def forecast_text(foretold: Iterable[Foretold]) -> str:
    """Return the counts in words: ``3 to change, 2 triggered, 1 cannot be told``; or that there is nothing to do."""
    numbers = Counter(foretold)
    parts = [f"{numbers[each]} {each}" for each in Foretold if numbers[each]]
    return ", ".join(parts) or "nothing to change"
