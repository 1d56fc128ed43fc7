"""Hides everything in a state with ``no_log: True`` except its ID, its function and its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final

from asyncstate.model.requisite import CONDITIONS, INTERNAL_KEYWORDS, REFERENCES
from asyncstate.model.result import STATE_RAN
from asyncstate.redact import MASK, SCHEMA, distinct

if TYPE_CHECKING:
    from asyncstate.model.result import Row

_WORDS: Final = frozenset(
    "old new diff mode user group pid retcode stdout stderr ret testing data installed removed created updated".split()
) | {"Requisites with changes"}
"""Keys of changes that do not depend on a state's arguments. Other keys (a package, a path) come from the arguments."""
_ENGINES_OWN: Final = SCHEMA - {"name", "comment", "changes", "pchanges", "warnings", "sub_state_run"}
_TOLD: Final = INTERNAL_KEYWORDS - {
    *(*CONDITIONS, "cmd_opts_exclude", "runas_password", "fire_event", "footprint"),
}
"""Arguments that control when and how a state runs, not what it does."""


def hush_row(row: Row, id_: Any) -> Row:
    """Return a row without the parts that ``no_log`` hides: name, comment, and keys and truthy leaves of the rest.

    The row of a state that was not called contains only texts of the engine, so only its name is hidden.
    """
    if row.get(STATE_RAN) is False:
        return {**row, "name": row["name"] if row["name"] == id_ else MASK}
    return distinct(
        (key if key in SCHEMA or key in _WORDS else MASK, item if key in _ENGINES_OWN else _hushed(item))
        for key, item in row.items()
    )


def hush_arguments(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a state with their values hidden, except those that control when and how it runs."""
    return {key: value if key in _TOLD else _hushed(value) for key, value in args.items()}


def hush_high(high: Mapping[str, Any]) -> dict[str, Any]:
    """Return high data with the names and arguments of ``no_log`` states hidden, also in requisites that name them."""
    declared = [states for states in high.values() if isinstance(states, Mapping)]
    bodies = [body for states in declared for body in states.values() if _says_no_log(body)]
    names = {name for body in bodies for item in body for name in _names(item)} - high.keys()
    return {id_: _hushed_states(states, names) for id_, states in high.items()}


def _says_no_log(body: Any) -> bool:
    return isinstance(body, list) and any(isinstance(item, Mapping) and item.get("no_log") for item in body)


def _names(item: Any) -> Iterator[str]:
    """Yield the names in an argument of a state."""
    if isinstance(item, Mapping):
        listed = item.get("names")
        for name in [item.get("name"), *(listed if isinstance(listed, list) else [])]:
            for one in name if isinstance(name, Mapping) else [name]:
                if isinstance(one, str):
                    yield one


def _hushed_states(states: Any, names: AbstractSet[str]) -> Any:
    if not isinstance(states, Mapping):
        return states
    return {state: _hushed_body(body, names) for state, body in states.items()}


def _hushed_body(body: Any, names: AbstractSet[str]) -> Any:
    if not isinstance(body, list):
        return body
    hushed = _says_no_log(body)
    shown = [hush_references(item, names) if isinstance(item, Mapping) else item for item in body]
    return [hush_arguments(item) if hushed and isinstance(item, Mapping) else item for item in shown]


def hush_references(args: Mapping[str, Any], names: AbstractSet[str]) -> dict[str, Any]:
    """Return the arguments of a state with ``names`` hidden in its requisites."""
    return {key: _without(value, names) if names and key in REFERENCES else value for key, value in args.items()}


def _without(value: Any, names: AbstractSet[str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _without(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_without(item, names) for item in value]
    return MASK if isinstance(value, str) and value in names else value


def _hushed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return distinct((key if key in _WORDS else MASK, _hushed(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return [_hushed(item) for item in value]
    return MASK if value else value
