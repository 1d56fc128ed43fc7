"""The functions that a plugin file offers, by name."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from asyncstate.salt_compat.requirements import offered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType


def exported_functions(namespace: ModuleType, *, imported_too: bool = False) -> Mapping[str, Callable[..., Any]]:
    """Return the functions that a plugin offers, by the names callers use.

    As in Salt 3008: the functions listed in ``__load__`` or ``__all__``, else those defined in the plugin itself
    (``imported_too``: all of its namespace), renamed by ``__func_alias__``. Private names and functions that
    ``depends`` refuses are left out.
    """
    listed = getattr(namespace, "__load__", None)
    if listed is None:
        listed = getattr(namespace, "__all__", None)
    aliases = getattr(namespace, "__func_alias__", {})
    exports: dict[str, Callable[..., Any]] = {}
    for attribute in dir(namespace) if listed is None else listed:
        func = None if attribute.startswith("_") else getattr(namespace, attribute, None)
        if not (inspect.isfunction(func) or isinstance(func, functools.partial)):
            continue
        if imported_too or listed is not None or _defined_in(namespace, func):
            func = offered(func)
            if func is not None:
                exports[aliases.get(attribute, attribute)] = func
    return exports


def _defined_in(namespace: ModuleType, func: Any) -> bool:
    home = getattr(func, "__module__", None) or ""
    return home == namespace.__name__ or home.startswith(f"{namespace.__name__}.")
