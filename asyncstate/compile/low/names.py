"""``names``: a state that is declared once and called for each name."""

from __future__ import annotations

from copy import copy as copied
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncstate.compile.findings import Findings
    from asyncstate.compile.low.lowstate import Draft

NamedEntry = Any
"""A name, or ``{name: [{argument: value}, …]}`` with arguments for this name only."""

STEP = 10000.0
"""The n-th name runs n/10000 after the order of its state."""

_COLLECTIONS = (dict, list, set)
"""Types that YAML may give instead of a name."""


def expand_names(draft: Draft, entries: list[NamedEntry], findings: Findings) -> list[Draft]:
    """Return one draft for each distinct entry. An entry may override any argument, also ``name`` and ``order``.

    Two entries with the same tag are one state: the later entry, in the position of the first.
    """
    copies: dict[Any, Draft] = {}
    for position, entry in enumerate(_distinct(entries), 1):
        copy = copied(draft)
        copy.args = dict(draft.args)
        if isinstance(entry, dict):
            if not entry:
                continue
            copy.name, overrides = next(iter(entry.items()))
            _override(copy, overrides, findings)
        else:
            copy.name = entry
        if isinstance(copy.name, _COLLECTIONS):
            message = f"The name {copy.name} of 'names' in state '{copy.id}' in SLS '{copy.sls}' needs to be a string"
            findings.error_at("E213", message, draft.file, draft.line_of("names"))
            continue
        copy.fraction = position / STEP
        copies[copy.name, copy.fun] = copy
    return list(copies.values())


def _distinct(entries: list[NamedEntry]) -> list[NamedEntry]:
    """Drop repeated entries. Names are looked up in a set; the few entries with overrides are compared one by one."""
    seen: set[Any] = set()
    overriding: list[Any] = []
    distinct = []
    for entry in entries:
        if isinstance(entry, _COLLECTIONS):
            if entry in overriding:
                continue
            overriding.append(entry)
        elif entry in seen:
            continue
        else:
            seen.add(entry)
        distinct.append(entry)
    return distinct


def _override(draft: Draft, overrides: Any, findings: Findings) -> None:
    if not isinstance(overrides, list) or not all(isinstance(item, dict) for item in overrides):
        message = (
            f"The entry '{draft.name}' of 'names' in state '{draft.id}' in SLS '{draft.sls}' needs to be "
            "a list of arguments"
        )
        hint = "write each argument as an item, with a dash"
        findings.error_at("E213", message, draft.file, draft.line_of("names"), hint)
        return
    for override in overrides:
        for key, value in override.items():
            if key == "name":
                draft.name = value
            elif key == "order":
                draft.order = value
                draft.automatic = False
            elif key != "fun":
                draft.args[key] = value
