"""Rows in Salt's order: the keys of each and, where Salt calls states by name, the rows themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.model.chunk import SEPARATOR
from asyncstate.model.requisite import RequisiteKind as Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row

_OF_STATES = frozenset({"__id__", "__sls__", "start_time", "duration"})
_LAST = ("__sls__", "__run_num__", "start_time", "duration", "__id__")
_HELD_BACK = (
    "changes", "result", "duration", "start_time", "comment", "__state_ran__", "__run_num__", "__sls__", "__id__",
    "name",
)  # fmt: skip
_SKIPPED = (
    "result", "name", "changes", "comment", "__sls__", "__id__", "skip_watch", "__run_num__", "start_time", "duration"
)  # fmt: skip
_BEGINNINGS = {
    "changes comment name result": (
        "file.managed file.serialize file.cached file.not_cached cron.present cron.file cron.env_present"
    ),
    "name changes comment result": "file.copy file.rename file.mknod module.run",
    "name result changes comment": (
        "archive.extracted cron.absent cron.env_absent kmod.present kmod.absent mount.fstab_present "
        "mount.fstab_absent sysctl.present"
    ),
    "name result comment changes": (
        "git.latest git.present git.detached git.cloned http.query pip.installed pip.removed virtualenv.managed"
    ),
}
_OF_FUNCTION = {
    function: tuple(keys.split()) for keys, functions in _BEGINNINGS.items() for function in functions.split()
}
"""Functions whose rows do not begin with name, changes, result and comment, and with what they do begin."""
_CALLED = (
    Kind.REQUIRE, Kind.REQUIRE_ANY, Kind.WATCH, Kind.WATCH_ANY, Kind.PREREQUIRED, Kind.ONFAIL, Kind.ONFAIL_ANY,
    Kind.ONFAIL_ALL, Kind.ONCHANGES, Kind.ONCHANGES_ANY,
)  # fmt: skip
"""The requisites of a state in the order in which Salt calls their targets."""


def as_in_salt(tag: str, row: Row) -> Row:
    """Return the row of a tag with its keys in Salt's order.

    A row that no state function returned lacks the keys that only those set.
    """
    if row.get("__id__", "") is None:
        return {key: value for key, value in row.items() if key not in _OF_STATES}
    held_back, skipped = "__state_ran__" in row, "skip_watch" in row
    first: tuple[str, ...] = _HELD_BACK if held_back else _SKIPPED if skipped else ()
    last = () if first else _LAST
    if not first:
        state, *_, function = tag.split(SEPARATOR)
        first = _OF_FUNCTION.get(f"{state}.{function}", ())
    named = {*first, *last}
    keys = [*first, *(key for key in row if key not in named), *last]
    return {key: row[key] for key in keys if key in row}


def called_for(id_: str) -> Callable[[Mapping[str, Row], Plan], dict[str, Row]]:
    """Return a function that sorts rows as Salt calls the states of an ID: before each, the states it requires."""

    def order(rows: Mapping[str, Row], plan: Plan) -> dict[str, Row]:
        tags: dict[str, None] = {}
        for chunk in plan.chunks:
            if chunk.id == id_:
                _call(chunk.index, plan, tags)
        numbers = sorted(row["__run_num__"] for row in rows.values())
        found = [tag for tag in tags if tag in rows]
        ordered = [*found, *(tag for tag in rows if tag not in tags)]
        return {tag: {**rows[tag], "__run_num__": number} for tag, number in zip(ordered, numbers, strict=True)}

    return order


def _call(index: int, plan: Plan, tags: dict[str, None]) -> None:
    """Add the tags of the chunks that a chunk requires, then its own. Not recursive: chains may be long."""
    waiting: list[tuple[int, bool]] = [(index, False)]
    while waiting:
        index, is_due = waiting.pop()
        tag = plan.chunks[index].tag
        if is_due:
            tags[tag] = None
        if is_due or tag in tags:
            continue
        waiting.append((index, True))
        required: list[Any] = [each for each in plan.requisites[index] if each.kind in _CALLED]
        required.sort(key=lambda each: _CALLED.index(each.kind))
        chunks = [plan.nodes[each.node].chunk for each in required]
        waiting += [(chunk, False) for chunk in reversed(chunks) if chunk >= 0]
