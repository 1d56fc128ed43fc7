"""The differences of two plans as text."""

from __future__ import annotations

from difflib import unified_diff
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET

from asyncstate.model.chunk import parse_tag
from asyncstate.model.encode import json_bytes
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.plans.comparison import ArgumentChange, Differences, EdgeChange, InputChange, StateChange

_LONGEST: Final = 100
_DIFF_LINES: Final = 20
_MARKS: Final = {"added": "+", "removed": "-", "changed": "~"}
_KINDS: Final = {"files": "file", "pillar": "pillar key", "grains": "grain", "plugins": "plugin", "options": "option"}


class Line(Value):
    """A line about a difference. ``mark`` is ``+``, ``-``, ``~`` (changed) or ``>`` (moved); ``depth`` its indent."""

    mark: str
    text: str
    depth: int = 0


def difference_lines(differences: Differences) -> Iterator[Line]:
    """Yield the differences: states with their arguments, the order, edges between states of both, and inputs."""
    yield from (Line("+", _headline(each)) for each in differences.added)
    yield from (Line("-", _headline(each)) for each in differences.removed)
    for each in differences.changed:
        yield Line("~", _headline(each))
        if each.was:
            yield Line(" ", f"was {label(each.was)}", 1)
        for argument in each.arguments:
            yield from argument_lines(argument)
    for move in differences.moved:
        now, before = (f"behind {label(tag)}" if tag else "first" for tag in (move.behind_after, move.behind_before))
        yield Line(">", f"{label(move.tag)}: comes {now}; before: {before}")
    yield from (Line("+", _edge(each)) for each in differences.edges_added if each.between_kept)
    yield from (Line("-", _edge(each)) for each in differences.edges_removed if each.between_kept)
    for argument in differences.selection:
        yield Line("~", f"selected: {argument.name}: {_change(argument)}")
    yield from (Line(_MARKS[each.how], _input(each)) for each in differences.inputs)


def label(name: str) -> str:
    """Return the name of a state, or of another node of the graph, in a line: ``file.managed: conf (/etc/x)``."""
    for before in ("check of ", "group of "):
        if name.startswith(before):
            return before + label(name.removeprefix(before))
    try:
        parts = parse_tag(name)
    except ValueError:
        return name
    return f"{parts.state}.{parts.fun}: {parts.id}" + (f" ({parts.name})" if parts.name != parts.id else "")


def argument_lines(argument: ArgumentChange) -> Iterator[Line]:
    """Yield the changes of an argument; only the differing lines of a long text."""
    before, after = argument.before, argument.after
    if isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        yield Line(" ", f"{argument.name}:", 1)
        lines = [*islice(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1), 2, _DIFF_LINES + 3)]
        yield from (Line(line[:1] if line[:1] in "+-" else " ", line[1:], 2) for line in lines[:_DIFF_LINES])
        if len(lines) > _DIFF_LINES:
            yield Line(" ", "…", 2)
    else:
        yield Line(" ", f"{argument.name}: {_change(argument)}", 1)


def _change(argument: ArgumentChange) -> str:
    if argument.hidden:
        return "changed; it is not shown"
    return f"{_value(argument.before)} → {_value(argument.after)}"


def _value(value: Any) -> str:
    text = "(none)" if value is UNSET else json_bytes(value, indent=0).decode()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _headline(change: StateChange) -> str:
    where = f" in {change.sls}" if change.sls else ""
    return f"{label(change.tag)}{where}" + (f" ({change.place})" if change.place else "")


def _edge(edge: EdgeChange) -> str:
    why = ", ".join([edge.source, *edge.resources])
    return f"{label(edge.after)} waits for {label(edge.before)} ({why})"


def _input(change: InputChange) -> str:
    return f"{_KINDS[change.kind]} {change.name} {change.how}"
