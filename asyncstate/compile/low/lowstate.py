"""Drafts, low chunks while the graph is built; high data becomes one for each call.

For that, arguments are collected, ``names`` expanded, and disabled states removed.
"""

from __future__ import annotations

import fnmatch
from copy import copy as copied
from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.load.plugin import described
from asyncstate.model.chunk import Declared, Lines
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asyncstate.compile.findings import Findings
    from asyncstate.compile.high.highstate import HighData


UNSET: Any = object()
"""The state has no ``order``, which differs from an ``order`` of null."""


class Draft(Declared, msgspec.Struct, eq=False):
    """A chunk while the graph is built: like LowChunk, but its place in the serial order is not known yet.

    ``order`` is the value in high data, ``fraction`` what the position within ``names`` adds to it, ``automatic``
    whether the compiler gave the number, not the SLS.
    """

    state: str
    fun: str
    id: str
    name: Any
    sls: str
    env: str
    args: dict[str, Any]
    order: Any
    included_from: tuple[str, ...]
    fraction: float = 0.0
    automatic: bool = True
    file: str = ""
    lines: Lines | None = None

    @property
    def line(self) -> int:
        """The line of the declaration, before rendering."""
        return self.line_of()

    def line_of(self, argument: str | None = None) -> int:
        """Return the line of an argument, or that of the declaration."""
        return self.lines.of(self.id, self.state, argument) if self.lines is not None else 0

    def low(self) -> dict[str, Any]:
        """Return low data for code that only reads it: a new dict, whose values are shared."""
        return {
            **self.args,
            "state": self.state,
            "fun": self.fun,
            "name": self.name,
            "__id__": self.id,
            "__sls__": self.sls,
            "__env__": self.env,
        }


class LowStates(Value):
    """The drafts in compile order, and the rows of states that a grain disables."""

    drafts: list[Draft]
    disabled: dict[str, dict[str, Any]]


_NOT_ARGUMENTS = frozenset({"state", "fun", "__sls_included_from__"})
_OVERRIDING = {"__id__": "id", "__sls__": "sls", "__env__": "env"}
"""Arguments that replace fields of a draft. A value that is not a string stays an argument."""


def compile_low(high: HighData, findings: Findings, disabled_patterns: Sequence[str] = ()) -> LowStates:
    """Turn every state of high data into its drafts. ``disabled_patterns``: the grain ``state_runs_disabled``.

    High data is used up: each declaration is dropped once its drafts are made, for a large tree is not held twice.
    """
    drafts: list[Draft] = []
    disabled: dict[str, dict[str, Any]] = {}
    chains: dict[tuple[str, ...], tuple[str, ...]] = {}
    for id_ in list(high.data):
        body = high.data.pop(id_)
        if id_.startswith("__"):
            continue
        sls = body.get("__sls__", "")
        env = body.get("__env__", "base")
        chain = tuple(body.get("__sls_included_from__", ()))
        chain = chains.setdefault(chain, chain)
        file, lines = findings.source(env, sls)
        for module, arguments in body.items():
            if module.startswith("__"):
                continue
            fun, name, names, args, order = _collect(id_, arguments)
            if fun is None:
                _warn_no_function(id_, module, sls, env, findings)
                continue
            text = name if isinstance(name, str) else id_
            draft = Draft(module, fun, id_, text, sls=sls, env=env, args=args, order=order, included_from=chain)
            if not _OVERRIDING.keys().isdisjoint(args):
                _override(draft)
            draft.file = file
            draft.lines = lines
            if name is not text and name is not None and str(name) != id_:
                _warn_name(draft, name, findings)
            draft.automatic = order is UNSET or high.is_automatic(id_, order)
            if names is None:
                drafts.append(draft)
            else:
                drafts.extend(expand_names(draft, names, findings))
    if disabled_patterns:
        drafts = [draft for draft in drafts if not _is_disabled(draft, disabled_patterns, disabled)]
    return LowStates(drafts, disabled)


def _collect(id_: str, arguments: list[Any]) -> tuple[str | None, Any, list[NamedEntry] | None, dict[str, Any], Any]:
    """Join the arguments of one state: function, name, ``names`` if any, the rest, and ``order``. Later keys win."""
    fun: str | None = None
    name: Any = id_
    order = UNSET
    names: list[NamedEntry] = []
    args: dict[str, Any] = {}
    for argument in arguments:
        if isinstance(argument, str):
            fun = argument
        elif isinstance(argument, dict):
            for key, value in argument.items():
                if key == "name":
                    name = value
                elif key == "names":
                    names.extend(value if isinstance(value, list) else ())
                elif key == "order":
                    order = value
                elif key not in _NOT_ARGUMENTS:
                    args[key] = value
    return fun, name, names or None, args, order


def _override(draft: Draft) -> None:
    for key, field in _OVERRIDING.items():
        if isinstance(draft.args.get(key), str):
            setattr(draft, field, draft.args.pop(key))


def _warn_no_function(id_: str, module: str, sls: str, env: str, findings: Findings) -> None:
    """Warn: a requisite or an extension added a module that the ID does not have, so there is nothing to run."""
    message = f"No function declared in state '{id_}' in SLS '{sls}': what was added to its '{module}' has no effect"
    findings.warn("W107", message, env=env, sls=sls, id_=id_)


def _warn_name(draft: Draft, given: Any, findings: Findings) -> None:
    """Warn: as in Salt, the ID takes the place of a name that is not text."""
    message = f"'name' of '{draft.state}.{draft.fun}' must be text, not {described(given)}: the ID takes its place"
    message += f" (ID '{draft.id}' in SLS '{draft.sls}')"
    several = isinstance(given, (list, dict))
    hint = "'names' takes several names" if several else "put it in quotes"
    findings.noted("E405", message, draft.file, draft.line_of("name"), hint, mistake=several)


def _is_disabled(draft: Draft, patterns: Sequence[str], rows: dict[str, dict[str, Any]]) -> bool:
    function = f"{draft.state}.{draft.fun}"
    for pattern in patterns:
        if fnmatch.fnmatch(function, pattern):
            rows[draft.tag] = {
                "changes": {},
                "result": False,
                "comment": (
                    f'The state function "{function}" is currently disabled by "{pattern}", to re-enable, run '
                    f"state.enable {pattern}."
                ),
                "name": draft.name,
                "__id__": draft.id,
                "__sls__": draft.sls,
            }
            return True
    return False


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
            _with_overrides(copy, overrides, findings)
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


def _with_overrides(draft: Draft, overrides: Any, findings: Findings) -> None:
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
