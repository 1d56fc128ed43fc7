"""What is left of a state that says ``no_log: True``: its ID, its function, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from asyncstate.model.requisite import INTERNAL_KEYWORDS
from asyncstate.redact.redactor import MASK, SCHEMA, distinct

if TYPE_CHECKING:
    from asyncstate.model.result import Row

_WORDS: Final = frozenset(
    "old new diff mode user group pid retcode stdout stderr ret testing data installed removed created updated".split()
) | {"Requisites with changes"}
"""Keys that states put into changes whatever they are about. Other keys (a package, a path) come from the arguments."""
_ENGINES_OWN: Final = SCHEMA - {"name", "comment", "changes", "pchanges", "warnings", "sub_state_run"}
_TOLD: Final = INTERNAL_KEYWORDS - {
    *("onlyif", "unless", "creates", "check_cmd", "cmd_opts_exclude", "runas_password", "fire_event", "footprint"),
}
"""Arguments that say when and how a state runs, not what it does."""


def hush_row(row: Row, id_: Any) -> Row:
    """Return a row without what ``no_log`` must not show: name, comment, and keys and truthy leaves of the rest.

    A state that was not called has only what the engine says of it; of such a row the name alone is hidden.
    """
    if row.get("__state_ran__") is False:
        return {**row, "name": row["name"] if row["name"] == id_ else MASK}
    return distinct(
        (key if key in SCHEMA or key in _WORDS else MASK, item if key in _ENGINES_OWN else _hushed(item))
        for key, item in row.items()
    )


def hush_arguments(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a state with their values hidden, but for those that say when and how it runs."""
    return {key: value if key in _TOLD else _hushed(value) for key, value in args.items()}


def hush_high(high: Mapping[str, Any]) -> dict[str, Any]:
    """Return high data in which the states with ``no_log`` have no names and arguments."""
    return {
        id_: {state: _hushed_body(body) for state, body in states.items()} if isinstance(states, Mapping) else states
        for id_, states in high.items()
    }


def _hushed_body(body: Any) -> Any:
    if not isinstance(body, list) or not any(isinstance(item, Mapping) and item.get("no_log") for item in body):
        return body
    return [hush_arguments(item) if isinstance(item, Mapping) else item for item in body]


def _hushed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return distinct((key if key in _WORDS else MASK, _hushed(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return [_hushed(item) for item in value]
    return MASK if value else value
