"""``state_compress_ids``: joins the rows that ``names`` made of one state into one row."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from asyncstate.model.chunk import parse_tag, state_tag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.model.result import Row

_CHANGES = "compressed changes"


def compress_ids(rows: Mapping[str, Row]) -> dict[str, Row]:
    """Return the rows, with rows of the same module, ID, SLS and result joined into one.

    As in Salt the joined row has the first row's comment, the sum of the durations, the changes by name, and the number
    of rows after its ID. The given rows are not changed.
    """
    groups = {tag: _group(tag, row) for tag, row in rows.items()}
    sizes = Counter(group for group in groups.values() if group is not None)
    compressed: dict[str, Row] = {}
    for tag, row in rows.items():
        group = groups[tag]
        if group is None or sizes[group] == 1:
            compressed[tag] = row
            continue
        state, id_, sls, result = group
        name = f"state_compressed_{sls}_{id_}_{result}"
        shared = state_tag(state, f"{id_} ({sizes[group]})", name, parse_tag(tag).fun)
        known = compressed.get(shared)
        compressed[shared] = dict(row) if known is None else _joined(known, row)
    return compressed


def _group(tag: str, row: Row) -> tuple[str, Any, Any, Any] | None:
    """Return what joined rows have in common; None for a key that is no tag, under which a plugin may return a row."""
    try:
        return parse_tag(tag).state, row.get("__id__"), row.get("__sls__"), row["result"]
    except ValueError:
        return None


def _joined(known: Row, row: Row) -> Row:
    joined = {**known}
    joined["start_time"] = min(known["start_time"], row["start_time"])
    joined["duration"] = round(known["duration"] + row["duration"], 3)
    if row["changes"]:
        before = known["changes"]
        if before and _CHANGES not in before:
            before = {_CHANGES: {known["name"]: before}}
        joined["changes"] = {_CHANGES: {**before.get(_CHANGES, {}), row["name"]: row["changes"]}}
    return joined
