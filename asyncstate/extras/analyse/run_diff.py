"""The difference between two runs: states that are new or gone, have another outcome, or another duration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.model.result import STATE_RAN, repeatable, seconds_of
from asyncstate.report.brief import short_changes
from asyncstate.report.summary import describe_tag, outcome_word
from asyncstate.report.terminal import PLAIN, Palette, count, one_line, short_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.model.result import Row, RunReport

NOISE = 1.5
"""The duration of a state differs if the ratio is at least this …"""
LEAST = 0.1
"""… and the difference is at least this, in seconds."""
_NOT_STARTED = "not started"


class StateDiff(msgspec.Struct, frozen=True):
    """A state in two runs, and the fields that differ: ``result``, ``changes``, ``comment``, ``duration``.

    ``before`` and ``after`` have the row of each run, None if the state did not start in it.
    """

    tag: str
    differs: tuple[str, ...]
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class RunDiff(msgspec.Struct, frozen=True):
    """``added`` and ``removed`` are the tags that only one run has; ``same`` counts the states without a difference."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    states: tuple[StateDiff, ...]
    same: int


def run_diff(before: RunReport, after: RunReport) -> RunDiff:
    """Compare the reports of two runs, state by state, in the order of the second."""
    old, new = _states(before), _states(after)
    states = [
        StateDiff(tag, differs, old[tag], new[tag])
        for tag in new
        if tag in old and (differs := tuple(_differences(old[tag], new[tag])))
    ]
    both = sum(tag in old for tag in new)
    return RunDiff(
        added=tuple(tag for tag in new if tag not in old),
        removed=tuple(tag for tag in old if tag not in new),
        states=tuple(states),
        same=both - len(states),
    )


def _states(report: RunReport) -> dict[str, Row | None]:
    return {**report.rows, **dict.fromkeys(report.not_started)}


def _differences(before: Row | None, after: Row | None) -> Iterator[str]:
    if before is None or after is None:
        if before is not after:
            yield "result"
        return
    if before["result"] is not after["result"] or before.get(STATE_RAN, True) is not after.get(STATE_RAN, True):
        yield "result"
    if repeatable(before["changes"]) != repeatable(after["changes"]):
        yield "changes"
    if before["comment"] != after["comment"]:
        yield "comment"
    one, other = sorted((seconds_of(before), seconds_of(after)))
    if other - one >= LEAST and other >= one * NOISE:
        yield "duration"


def diff_lines(found: RunDiff, palette: Palette = PLAIN, *, dry: tuple[bool, bool] = (False, False)) -> Iterator[str]:
    """Yield the difference as text; ``dry`` tells which of the two was a dry run."""
    for sign, colour, tags in (("-", palette.red, found.removed), ("+", palette.green, found.added)):
        for tag in tags:
            yield palette.paint(colour, f"{sign} {describe_tag(tag)}")
    for state in found.states:
        yield palette.paint(palette.yellow, "~ ") + describe_tag(state.tag)
        yield from (f"    {line}" for line in _state_lines(state, palette, dry))
    same = count(found.same, "other state")
    if not (found.added or found.removed or found.states):
        yield f"No difference in {count(found.same, 'state')}."
    elif found.same:
        yield palette.paint(palette.dim, f"  {same} without a difference")


def _state_lines(state: StateDiff, palette: Palette, dry: tuple[bool, bool]) -> Iterator[str]:
    before, after = state.before, state.after
    if "result" in state.differs:
        yield f"result:   {_word(before, dry=dry[0])} -> {_word(after, dry=dry[1])}"
    if before is None or after is None:
        row = after or before
        if row is not None and row["comment"]:
            yield f"comment:  {one_line(str(row['comment']))}"
        return
    if "changes" in state.differs:
        yield f"changes:  {_changes(before, after)}"
    if "comment" in state.differs:
        yield palette.paint(palette.red, f"comment: -{one_line(str(before['comment']))}")
        yield palette.paint(palette.green, f"         +{one_line(str(after['comment']))}")
    if "duration" in state.differs:
        yield f"duration: {short_time(seconds_of(before))} -> {short_time(seconds_of(after))}"


def _word(row: Row | None, *, dry: bool) -> str:
    if row is None:
        return _NOT_STARTED
    skipped = row["result"] is not False and not row.get(STATE_RAN, True)
    return outcome_word(row, dry=dry) + (" (not run)" if skipped else "")


def _changes(before: Row, after: Row) -> str:
    """Return both changes in short; if these are equal, the keys whose values differ."""
    old, new = (short_changes(row["changes"], str(row["name"])) or "none" for row in (before, after))
    if old != new:
        return f"{old} -> {new}"
    one, other = repeatable(before["changes"]), repeatable(after["changes"])
    return f"{old}, with another {', '.join(key for key in {**one, **other} if one.get(key) != other.get(key))}"


def diff_data(found: RunDiff) -> dict[str, Any]:
    """Return the difference for programs."""
    data: dict[str, Any] = msgspec.structs.asdict(found)
    return {**data, "states": [msgspec.structs.asdict(state) for state in found.states]}
