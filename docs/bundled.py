"""The bundled modules of the site's pages, with all that provide them."""
# ruff: noqa: INP001 - beside the scripts that make the pages

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from asyncstate.load.folders import bundled_folder, scan
from asyncstate.load.imports import import_plugin
from asyncstate.load.virtual import exported_functions
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class ProviderFile(Value):
    """One file that provides a module: its functions by name, and its documentation."""

    file: str
    doc: str
    functions: Mapping[str, Callable[..., Any]]


def bundled_modules(kind: str) -> dict[str, list[ProviderFile]]:
    """Return the bundled plugins of a kind by name, also those that do not load on this machine."""
    found: dict[str, list[ProviderFile]] = {}
    for plugin in scan(bundled_folder(kind)).values():
        namespace = import_plugin(plugin, kind)
        name = str(getattr(namespace, "__virtualname__", plugin.name))
        functions = {
            function: func
            for function, func in sorted(exported_functions(namespace).items())
            if not function.startswith(("_", "mod_"))
        }
        found.setdefault(name, []).append(ProviderFile(plugin.source, inspect.getdoc(namespace) or "", functions))
    return dict(sorted(found.items()))
