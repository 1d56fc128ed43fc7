"""``exclude``: remove IDs from the tree, by ID or by the SLS that declares them."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Any

from asyncstate.compile.high.declarations import EXCLUDE, exclusion
from asyncstate.compile.high.highstate import warn_unfitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asyncstate.compile.high.highstate import HighData


def add_excludes(high: HighData, exclude: Sequence[Any] | str) -> None:
    """Add what the command line excludes (see `exclusion`), ``{sls: …}``, ``{id: …}``. Warns of what fits nothing."""
    items = list(map(exclusion, exclude.split(",") if isinstance(exclude, str) else exclude))
    for item in items:
        warn_unfitting(high, item, "id:{}")
    if items:
        high.data[EXCLUDE] = [*high.data.get(EXCLUDE, ()), *items]


def apply_excludes(high: HighData) -> None:
    """Remove the IDs that ``__exclude__`` names. Their extensions and ``_in`` requisites of other IDs stay.

    An ID that is a list or a mapping is an error; Salt stops with an exception there.
    """
    excluded = high.data.pop(EXCLUDE, None)
    if not excluded:
        return
    patterns: dict[str, None] = {}
    ids: dict[Any, None] = {}
    for item in excluded:
        if isinstance(item, str):
            patterns[item] = None
        elif isinstance(item, dict) and len(item) == 1:
            kind, value = next(iter(item.items()))
            if kind == "sls":
                patterns[str(value)] = None
            elif kind == "id" and isinstance(value, (list, dict)):
                high.findings.error("E220", f"The exclude of ID {value!r} names no ID: exclude one ID an entry")
            elif kind == "id":
                ids[value] = None
    matched = {}
    for id_, body in high.data.items():
        if isinstance(body, dict):
            sls = body.get("__sls__", "")
            if sls not in matched:
                matched[sls] = any(fnmatch.fnmatch(sls, pattern) for pattern in patterns)
            if matched[sls]:
                ids[id_] = None
    for id_ in ids:
        high.data.pop(id_, None)
    for sls in [sls for sls, gone in matched.items() if gone]:
        high.includes.pop(sls, None)
