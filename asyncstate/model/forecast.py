"""The forecast of a dry run for each state: it changes something, other states trigger it, or that cannot be told.

A row of a dry run says that a state would change something (its result is null), but not why it would be called. The
plan does: a state that waits for the changes of others is called only if they come true, and a command without a
condition is called in any case, whatever it does.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import NOT_TOLD
from asyncstate.model.requisite import CONDITIONS_BEFORE, RequisiteKind
from asyncstate.model.walk import stands_for

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row, RunReport

_ONLY_IF = frozenset({RequisiteKind.ONCHANGES, RequisiteKind.PREREQ})
"""Families of requisites without whose changes a state is not called."""
_CALLS = frozenset({"cmd", "module"})
"""State modules that run commands or functions named in the tree, whose effects they cannot forecast."""


class Foretold(StrEnum):
    """The forecast for a state that a dry run does not leave as it is."""

    CHANGE = "to change"
    """The state found something to do."""
    TRIGGERED = "triggered"
    """It would do something only because a state that it watches, listens to or depends on would change."""
    UNKNOWN = "cannot be told"
    """An earlier state is to change what it needs; it would run a command, whatever that changes; it waits for a state
    whose changes the dry run does not show; or it has ``onfail``, and nothing failed so far."""


def forecast(report: RunReport, plan: Plan | None) -> dict[str, Foretold]:
    """Return the forecasts of a dry run, by tag; none for states that would stay as they are, or that failed.

    Without the plan, and for rows that are not in it, only the states that would change are known. A real run has no
    forecasts.
    """
    if not report.test:
        return {}
    found = {
        tag: Foretold.UNKNOWN if row.get(NOT_TOLD) else Foretold.CHANGE
        for tag, row in report.rows.items()
        if row["result"] is None
    }
    if plan is not None:
        Forecast(report.rows, plan).complete(found)
    return found


class Forecast:
    """The plan's forecasts for the rows of a dry run; ask for a row once the rows that it waits for are known.

    A set of states is visited once, however many states wait for it.
    """

    def __init__(self, rows: Mapping[str, Row], plan: Plan) -> None:
        self._rows = rows
        self._plan = plan
        self._chunks = {chunk.tag: chunk for chunk in plan.chunks}
        self._listeners = {node.label for node in plan.listeners}
        self._known: dict[tuple[int, Callable[[str], bool]], bool] = {}

    def of(self, tag: str) -> Foretold | None:
        """Return the forecast for a state beyond its row; None for none."""
        if tag in self._listeners:
            return Foretold.TRIGGERED
        return self._of(self._chunks[tag], self._rows[tag]) if tag in self._chunks and tag in self._rows else None

    def complete(self, found: dict[str, Foretold]) -> None:
        """Add the forecasts that follow from the rows to ``found``."""
        plan, rows = self._plan, self._rows
        found.update(dict.fromkeys(found.keys() & self._listeners, Foretold.TRIGGERED))
        found.update((chunk.tag, foretold) for chunk in plan.chunks if (foretold := self.of(chunk.tag)))
        # The changes of a listener at the end of the run trigger no other listener.
        listening = {plan.chunks[node.chunk].tag: node for node in plan.listeners if node.label not in rows}
        silent = {tag for tag in found if not rows[tag]["changes"]}  # they may change something nevertheless
        open_ = [tag for tag, node in listening.items() if tag in rows and self._any(node.members, silent.__contains__)]
        found.update((tag, Foretold.UNKNOWN) for tag in open_ if tag not in found)

    def _of(self, chunk: LowChunk, row: Row) -> Foretold | None:
        families = {requisite.kind.family for requisite in self._plan.requisites[chunk.index]}
        if row["result"] is not None or row.get(NOT_TOLD):
            return None
        if families & _ONLY_IF or (RequisiteKind.WATCH in families and self._by_watching(chunk, row)):
            return Foretold.TRIGGERED
        if RequisiteKind.ONFAIL in families and not self._waits(chunk, {RequisiteKind.ONFAIL}, self._failed):
            return Foretold.UNKNOWN
        return Foretold.UNKNOWN if chunk.state in _CALLS and not _has_condition(chunk.args) else None

    def _by_watching(self, chunk: LowChunk, row: Row) -> bool:
        """Whether ``mod_watch`` made the row: the state itself found nothing to do, but a watched one would change."""
        if row["changes"] and not chunk.fun.startswith("wait"):
            return False
        return self._waits(chunk, {RequisiteKind.WATCH}, self._changed)

    def _waits(self, chunk: LowChunk, families: Collection[RequisiteKind], holds: Callable[[str], bool]) -> bool:
        """Whether something holds for a state of this host that requisites of these families name."""
        requisites = self._plan.requisites[chunk.index]
        return self._any((each.node for each in requisites if each.kind.family in families), holds)

    def _any(self, numbers: Iterable[int], holds: Callable[[str], bool]) -> bool:
        return any(self._holds(number, holds) for number in numbers)

    def _holds(self, number: int, holds: Callable[[str], bool]) -> bool:
        if (number, holds) not in self._known:
            calls = (self._plan.nodes[each].chunk for each in stands_for(self._plan, [number]))
            tags = (self._plan.chunks[chunk].tag for chunk in calls if chunk >= 0)
            self._known[number, holds] = any(tag in self._rows and holds(tag) for tag in tags)
        return self._known[number, holds]

    def _changed(self, tag: str) -> bool:
        return bool(self._rows[tag]["changes"])

    def _failed(self, tag: str) -> bool:
        return self._rows[tag]["result"] is False


def _has_condition(args: Mapping[str, Any]) -> bool:
    stateful = args.get("stateful")
    options = stateful if isinstance(stateful, list) else [stateful]
    tested = any(isinstance(option, dict) and "test_name" in option for option in options)
    return tested or any(args.get(name) for name in CONDITIONS_BEFORE)


def forecast_text(numbers: Mapping[str, int]) -> str:
    """Return the counts as text: ``3 to change, 2 triggered, 1 cannot be told``; "" if there is nothing to do."""
    parts = [f"{numbers[each]} {each}" for each in Foretold if numbers.get(each)]
    return ", ".join(parts)
