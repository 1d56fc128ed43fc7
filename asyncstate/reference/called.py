"""Execution functions that states call by name: in their conditions, and by ``module.run``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from asyncstate.errors import FunctionNotFound
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from asyncstate.load.loader import LazyLoader

_CONDITIONS = ("onlyif", "unless")
_OF_A_CALL = ("fun", "args", "get_return")
_NAME = re.compile(r"\w+\.\w+(?::.*)?")
_CALLING = frozenset({"module.run", "module.wait", "module.watch"})


def malformed_conditions(args: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield argument, problem and next step of each condition that is a mapping and names no function."""
    for argument in _CONDITIONS:
        for entry in _entries(args.get(argument)):
            if isinstance(entry, dict) and "fun" not in entry:
                near = next((key for key in map(str, entry) if nearest(key, _OF_A_CALL) == "fun"), "")
                hint = f"write 'fun' in place of '{near}'" if near else "write a command, or - fun: MODULE.FUNCTION"
                yield argument, "has a mapping without 'fun', which is no condition", hint


def unknown_functions(function: str, args: Mapping[str, Any], modules: LazyLoader) -> Iterator[tuple[str, str, str]]:
    """Yield argument, problem and nearest name of each function that does not exist, but resembles one that does.

    One that resembles none may come with a package that the tree installs.
    """
    for argument, name in _called(function, args):
        try:
            modules.get(name)
        except FunctionNotFound as error:
            if error.suggestion and modules.refused(name.partition(".")[0]) is None:
                yield argument, f"calls '{name}', which does not exist", error.suggestion


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
