"""Rows: what a state function returns. There is one function for each way that a state can end.

A row is a plain dict with the keys ``name``, ``changes``, ``result`` and ``comment``; a state may also write the dict
itself. Other keys are added with ``|``: ``failed(name, "No answer") | {"status": 503}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
"""What a state function returns. The engine adds the facts about the chunk: ID, SLS, times."""


def unchanged(name: object, comment: str = "") -> Row:
    """Return the row of a state that succeeded and changed nothing."""
    return make_row(name, comment, result=True)


def changed(name: object, comment: str, changes: Mapping[str, Any]) -> Row:
    """Return the row of a state that succeeded; ``changes`` say what is different now, usually as old and new value."""
    return make_row(name, comment, changes, result=True)


def would_change(name: object, comment: str, changes: Mapping[str, Any] | None = None) -> Row:
    """Return the row of a dry run that found something to do: the result is None, ``changes`` say what would change.

    Give ``changes`` if they are known: `watch` and `onchanges` of other states use them in a dry run too.
    """
    return make_row(name, comment, changes, result=None)


def failed(name: object, comment: str, changes: Mapping[str, Any] | None = None) -> Row:
    """Return the row of a state that failed; ``changes`` say what it had changed by then."""
    return make_row(name, comment, changes, result=False)


def make_row(name: object, comment: str, changes: Mapping[str, Any] | None = None, *, result: bool | None) -> Row:
    """Return the row of a state that computes its ``result``; the functions above have a fixed one.

    The row has a copy of ``changes``: what is added to the one later is not in the other.
    """
    if changes and not isinstance(changes, Mapping):
        expected = "a dictionary, such as {'old': …, 'new': …}"
        raise TypeError(
            f"the changes of the row of {name!r} must be {expected}, and are of type {type(changes).__name__}"
        )
    return {"name": name, "changes": dict(changes or {}), "result": result, "comment": comment}
