"""Functions made from functions."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else

if TYPE_CHECKING:
    from collections.abc import Iterable


def namespaced_function(
    function: types.FunctionType, global_dict: dict[str, Any], *_older_releases: Any, **_names: Any
) -> types.FunctionType:
    """Return the function with another module's globals, which gain the names they lack."""
    for name, value in function.__globals__.items():
        global_dict.setdefault(name, value)
    return _remade(function, global_dict, function.__name__)


def alias_function(fun: types.FunctionType, name: str, doc: str | None = None) -> types.FunctionType:
    """Return the function under another name."""
    alias = _remade(fun, fun.__globals__, str(name))
    alias.__doc__ = doc or f"\nThis function is an alias of ``{fun.__name__}``.\n{fun.__doc__ or ''}"
    return alias


def _remade(function: types.FunctionType, names: dict[str, Any], name: str) -> types.FunctionType:
    made = types.FunctionType(function.__code__, names, name, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    return made


def parse_function(function_arguments: Iterable[Any]) -> dict[str, Any]:
    """Return ``{args, kwargs}`` of a list in which keyword arguments are dicts."""
    args, kwargs = [], {}
    for item in function_arguments:
        if isinstance(item, dict):
            kwargs.update(item)
        else:
            args.append(item)
    return {"args": args, "kwargs": kwargs}


__getattr__: ModuleGetattr = nothing_else(__name__)
