"""Execution functions that states call by name: in their conditions, in slots, and by ``module.run``."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from asyncstate.errors import FunctionNotFound
from asyncstate.load.plugin import described
from asyncstate.model.chunk import SLOT, texts_in
from asyncstate.nearest import did_you_mean, nearest
from asyncstate.run.chunk.slots import parse_call

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from asyncstate.load.loader import LazyLoader
    from asyncstate.load.plugin import LoadedFunction

_CONDITIONS = ("onlyif", "unless")
_ASKING = frozenset(_CONDITIONS)
_OF_A_CALL = ("fun", "args", "get_return")
_NAME = re.compile(r"\w+\.\w+(?::.*)?")
_WRITE = "write a command, or - fun: MODULE.FUNCTION"
_CALLING = frozenset({"module.run", "module.wait", "module.watch"})
_TAKEN_NAMES = frozenset({"name", "fun", "names", "state", "saltenv"})
"""Arguments of functions that ``module.run`` in its old style takes with ``m_`` before them."""


def malformed_conditions(args: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield argument, problem and next step of each condition that is neither a command nor names a function."""
    for argument in _CONDITIONS if not _ASKING.isdisjoint(args) else ():
        given = args.get(argument)
        if given == []:
            yield argument, "is an empty list, which a run refuses", "write a command, or leave it out"
        for entry in _entries(given):
            if entry is not None and not isinstance(entry, (str, dict)):
                yield argument, f"has {described(entry)}, which is no condition", _WRITE
            elif isinstance(entry, dict) and "fun" not in entry:
                near = next((key for key in map(str, entry) if nearest(key, _OF_A_CALL) == "fun"), "")
                hint = f"write 'fun' instead of '{near}'" if near else _WRITE
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


def misfits(function: str, args: Mapping[str, Any], modules: LazyLoader) -> Iterator[tuple[str, str, str, str]]:
    """Yield argument, code, problem and next step of each call that its function cannot take, whatever it does."""
    for argument, name, positional, keywords in _calls(function, args):
        if (called := _existing(name, modules)) is not None:
            for code, what, near in _refused(called, positional, keywords):
                yield argument, code, what, did_you_mean(near) or f"asyncstate doc {name} says more"
    if function in _CALLING and not any(map(_is_name, args)) and (called := _existing(args.get("name"), modules)):
        for parameter in (*called.signature.required, *called.signature.required_keywords):
            written = f"m_{parameter}" if parameter in _TAKEN_NAMES else parameter
            if args.keys().isdisjoint({written, parameter} - {"name"}):
                yield "name", "E403", f"calls '{called.name}', which needs '{parameter}'", f"write '- {written}: …'"


def _existing(name: Any, modules: LazyLoader) -> LoadedFunction | None:
    called = modules.find(name) if _is_name(name) else None
    return None if called is None or called.hidden else called


def _refused(
    called: LoadedFunction, positional: list[Any], keywords: Mapping[Any, Any]
) -> Iterator[tuple[str, str, str]]:
    """Yield code, problem and nearest right name of each unknown keyword, or of what is missing or too much."""
    known = called.signature.names
    unknown = () if called.signature.has_kwargs else [key for key in map(str, keywords) if key not in known]
    for key in unknown:
        yield "E402", f"gives '{called.name}' the argument '{key}', which it does not have", nearest(key, known)
    if not unknown:
        try:
            inspect.signature(called.func).bind(*positional, **keywords)
        except TypeError as error:
            yield "E403", f"does not give '{called.name}' what it needs: {error}", ""
        except ValueError:  # a function without a signature
            return


def _next_step(module: str, near: str, modules: LazyLoader) -> str:
    if near:
        return did_you_mean(near)
    if modules.module(module) is not None:
        return f"asyncstate doc {module} lists what it has"
    nothing = f"there is no execution module '{module}' here; one of your own belongs into _modules of a file root, "
    return nothing + "and Salt's own are borrowed where Salt is installed (salt_python)"


def _called(function: str, args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the functions that a state calls, each with its argument."""
    for argument in _CONDITIONS if not _ASKING.isdisjoint(args) else ():
        for entry in _entries(args.get(argument)):
            if isinstance(entry, dict) and _is_name(entry.get("fun")):
                yield argument, entry["fun"]
    for argument, value in args.items():
        for slot in (text for text in texts_in(value, keys=True) if text.startswith(f"{SLOT}salt:")):
            call = parse_call(slot.split(":", 2)[2])
            if call is not None and _is_name(call[0]):
                yield argument, call[0]
    if function in _CALLING:
        several = [key for key in args if _is_name(key)]
        yield from ((key, key.partition(":")[0]) for key in several)
        if not several and _is_name(args.get("name")):
            yield "name", args["name"]


def _calls(function: str, args: Mapping[str, Any]) -> Iterator[tuple[str, str, list[Any], dict[Any, Any]]]:
    """Yield argument, function, values and keywords of each call whose function gets all that is written for it."""
    for argument in _CONDITIONS if not _ASKING.isdisjoint(args) else ():
        for entry in _entries(args.get(argument)):
            if isinstance(entry, dict) and _is_name(entry.get("fun")) and isinstance(entry.get("args", []), list):
                keywords = {key: value for key, value in entry.items() if key not in _OF_A_CALL}
                yield argument, entry["fun"], entry.get("args", []), keywords
    for key in args if function in _CALLING else ():
        if _is_name(key):
            given = [] if args[key] is None else _entries(args[key])
            keywords = {
                name: value for item in reversed(given) if isinstance(item, dict) for name, value in item.items()
            }
            yield key, key.partition(":")[0], [item for item in given if not isinstance(item, dict)], keywords


def _entries(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_name(value: Any) -> bool:
    """Return whether a value has the form ``module.function``, with a number behind it for a second call."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None
