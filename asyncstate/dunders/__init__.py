"""The double-underscore names that plugins use: ``__salt__``, ``__opts__``, ``__pillar__`` and others.

Each is a proxy over one context variable, so a plugin file is imported once per process and still sees, in every call,
the runtime and the chunk it is called for. Bundled plugins import the names from here; the loader puts the same objects
into the namespace of a stock Salt-style file.

States also import from here the functions that make their rows, and `is_dry_run`; states that change entries of a
shared file import `editing` and `entry_of`.

A row is the return of a state function: a plain dict with the keys ``name``, ``changes``, ``result`` and ``comment``.
There is one function for each way that a state can end; a state may also write the dict itself. Other keys are added
with ``|``: ``failed(name, "No answer") | {"status": 503}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from asyncstate.dunders.context import check_cancelled, hide, is_dry_run, runtime_services, tree_files
from asyncstate.dunders.proxies import (
    __context__,
    __env__,
    __file_client__,
    __grains__,
    __instance_id__,
    __low__,
    __lowstate__,
    __opts__,
    __orig_opts__,
    __pillar__,
    __proxy__,
    __running__,
    __salt__,
    __serializers__,
    __sls__,
    __states__,
    __user__,
    __utils__,
)
from asyncstate.dunders.services import (
    FileRoots,
    Orchestra,
    PluginFunction,
    PluginKind,
    PluginModule,
    Plugins,
    Services,
    TreeFiles,
)

if TYPE_CHECKING:
    from asyncstate.dunders.entries import Editing, editing, entry_of

__all__ = [
    "Editing",
    "FileRoots",
    "Orchestra",
    "PluginFunction",
    "PluginKind",
    "PluginModule",
    "Plugins",
    "Row",
    "Services",
    "TreeFiles",
    "__context__",
    "__env__",
    "__file_client__",
    "__grains__",
    "__instance_id__",
    "__low__",
    "__lowstate__",
    "__opts__",
    "__orig_opts__",
    "__pillar__",
    "__proxy__",
    "__running__",
    "__salt__",
    "__serializers__",
    "__sls__",
    "__states__",
    "__user__",
    "__utils__",
    "changed",
    "check_cancelled",
    "editing",
    "entry_of",
    "failed",
    "hide",
    "is_dry_run",
    "make_row",
    "not_told",
    "runtime_services",
    "tree_files",
    "unchanged",
    "would_change",
]


def __getattr__(name: str) -> Any:
    """Import on first use what only states of entries in files use (PEP 562)."""
    if name in {"Editing", "editing", "entry_of"}:
        from asyncstate.dunders import entries  # noqa: PLC0415

        return getattr(entries, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


NOT_TOLD: Final = "__not_told__"
"""Key of a row of a dry run, True if what the state will do cannot be told before something else has happened."""

Row: TypeAlias = dict[str, Any]
"""The return of a state function. The engine adds the facts about the chunk: ID, SLS, times."""


def unchanged(name: object, comment: str = "") -> Row:
    """Return the row of a state that succeeded and changed nothing."""
    return make_row(name, comment, result=True)


def changed(name: object, comment: str, changes: Mapping[str, Any]) -> Row:
    """Return the row of a state that succeeded; ``changes`` are the differences, usually as old and new value."""
    return make_row(name, comment, changes, result=True)


def would_change(name: object, comment: str, changes: Mapping[str, Any] | None = None) -> Row:
    """Return the row of a dry run that found something to do: the result is None, ``changes`` are what would change.

    Give ``changes`` if they are known: `watch` and `onchanges` of other states use them in a dry run too.
    """
    return make_row(name, comment, changes, result=None)


def not_told(name: object, comment: str) -> Row:
    """Return the row of a dry run in which it cannot be told whether the state will change something, or fail.

    The comment says what decides it, and what is known now.
    """
    return make_row(name, comment, result=None) | {NOT_TOLD: True}


def failed(name: object, comment: str, changes: Mapping[str, Any] | None = None) -> Row:
    """Return the row of a state that failed; ``changes`` are what it had changed by then."""
    return make_row(name, comment, changes, result=False)


def make_row(name: object, comment: str, changes: Mapping[str, Any] | None = None, *, result: bool | None) -> Row:
    """Return the row of a state that computes its ``result``; the functions above have a fixed one.

    The row has a copy of ``changes``: later additions to one do not appear in the other.
    """
    if changes and not isinstance(changes, Mapping):
        expected = "a dictionary, such as {'old': …, 'new': …}"
        raise TypeError(
            f"the changes of the row of {name!r} must be {expected}, and are of type {type(changes).__name__}"
        )
    return {"name": name, "changes": dict(changes or {}), "result": result, "comment": comment}
