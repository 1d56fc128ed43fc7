"""Execution functions that states call by name: in their conditions, and by ``module.run``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from asyncstate.errors import FunctionNotFound
from asyncstate.load.annotations import described
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from asyncstate.load.loader import LazyLoader

_CONDITIONS = ("onlyif", "unless")
_OF_A_CALL = ("fun", "args", "get_return")
_NAME = re.compile(r"\w+\.\w+(?::.*)?")
_WRITE = "write a command, or - fun: MODULE.FUNCTION"
_CALLING = frozenset({"module.run", "module.wait", "module.watch"})


def malformed_conditions(args: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield argument, problem and next step of each condition that is neither a command nor names a function."""
    for argument in _CONDITIONS:
        given = args.get(argument)
        if given == []:
            yield argument, "is an empty list, which a run refuses", "write a command, or leave it out"
        for entry in _entries(given):
            if entry is not None and not isinstance(entry, (str, dict)):
                yield argument, f"has {described(entry)}, which is no condition", _WRITE
            elif isinstance(entry, dict) and "fun" not in entry:
                near = next((key for key in map(str, entry) if nearest(key, _OF_A_CALL) == "fun"), "")
                hint = f"write 'fun' in place of '{near}'" if near else _WRITE
                yield argument, "has a mapping without 'fun', which is no condition", hint


def unknown_functions(function: str, args: Mapping[str, Any], modules: LazyLoader) -> Iterator[tuple[str, str, str]]:
    """Yield argument, name and next step of each function that does not exist.

    A module that is here and does not load may do so once part of the tree was applied: it is not judged.
    """
    for argument, name in _called(function, args):
        module = name.partition(".")[0]
        try:
            modules.get(name)
        except FunctionNotFound as error:
            if modules.refused(module) is None and error.reason.endswith("is not available."):
                yield argument, name, _next_step(module, error.suggestion, modules)


def _next_step(module: str, near: str, modules: LazyLoader) -> str:
    if near:
        return f"did you mean '{near}'?"
    if modules.module(module) is not None:
        return f"asyncstate doc {module} lists what it has"
    nothing = f"there is no execution module '{module}' here; one of your own belongs into _modules of a file root, "
    return nothing + "and Salt's own are borrowed where Salt is installed (salt_python)"


def _called(function: str, args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the functions that a state calls, each with its argument."""
    for argument in _CONDITIONS:
        for entry in _entries(args.get(argument)):
            if isinstance(entry, dict) and _is_name(entry.get("fun")):
                yield argument, entry["fun"]
    if function in _CALLING:
        several = [key for key in args if _is_name(key)]
        yield from ((key, key.partition(":")[0]) for key in several)
        if not several and _is_name(args.get("name")):
            yield "name", args["name"]


def _entries(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_name(value: Any) -> bool:
    """Return whether a value has the form ``module.function``, with a number behind it for a second call."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None
