"""``import`` in a custom module: of ``salt``, and of the plugins beside it.

``import salt`` finds real Salt where it is installed, else the namespace in `asyncstate.salt_compat.salt`.

Plugins are run with builtins of their own, whose ``__import__`` knows where these are. Python looks builtins up in the
globals a function was defined in, so that imports inside functions, made later and in any thread, find them too.
Nothing is ever put into ``sys.modules`` under the name ``salt``: the host application and the libraries a plugin uses
see no Salt that is not there. ``importlib.import_module("salt…")`` is such a library, and finds only real Salt.
"""

from __future__ import annotations

import builtins
import sys
from typing import TYPE_CHECKING, Any

from asyncstate.salt_compat.real_salt import real_salt_is_installed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


EXTERNAL = "asyncstate.ext."
"""Prefix of the module names of plugins that are no part of an installed package; no such package exists."""

INTERFACES = "_interfaces"
"""The name under which the plugins of a tree import its interfaces, and that of their folder."""


def _import(
    name: str,
    globals: Mapping[str, object] | None = None,
    locals: Mapping[str, object] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> Any:
    """Import as Python does, but for ``salt``, and for what the plugin's neighbours offer.

    Raises ModuleNotFoundError or ImportError that names a way out.
    """
    if level:
        return _import_relative(name, globals, locals, fromlist, level)
    first = name.partition(".")[0]
    if first == "salt":
        return _interface_of_tree(name, globals, fromlist) or _import_salt(name, globals, locals, fromlist)
    if first != INTERFACES:
        try:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        except ModuleNotFoundError as error:
            if error.name != first:
                raise
            absent = error
    else:
        absent = ModuleNotFoundError(f"only plugins of a tree can import {name}", name=name)
    neighbours = _neighbours()
    importing = neighbours.importer(globals)
    if importing is not None:
        found = neighbours.import_neighbour(neighbours.Statement(importing, name, tuple(fromlist or ()), globals))
        if found is not None:
            return found
    raise absent


def _neighbours() -> Any:
    from asyncstate.load import neighbours  # noqa: PLC0415 - it imports plugins, which import by way of this

    return neighbours


def _interface_of_tree(name: str, globals: Mapping[str, object] | None, fromlist: Sequence[str] | None) -> Any:
    """Return what ``from salt.interfaces.queue import …`` means where the tree has such an interface, else None."""
    if not fromlist or not name.startswith("salt.interfaces."):
        return None
    neighbours = _neighbours()
    importing = neighbours.importer(globals)
    if importing is None:
        return None
    module = name.removeprefix("salt.interfaces.").removesuffix("_module")
    return neighbours.import_interface(neighbours.Statement(importing, module, tuple(fromlist), globals))


def _import_salt(
    name: str,
    globals: Mapping[str, object] | None,
    locals: Mapping[str, object] | None,
    fromlist: Sequence[str] | None,
) -> Any:
    if real_salt_is_installed():
        return builtins.__import__(name, globals, locals, fromlist or (), 0)
    from asyncstate.salt_compat.namespace import names_from, provide  # noqa: PLC0415 - few plugins need it

    module = provide(name)
    if not fromlist:
        return provide("salt")
    names_from(name, module, fromlist)
    return module


def _import_relative(
    name: str,
    globals: Mapping[str, object] | None,
    locals: Mapping[str, object] | None,
    fromlist: Sequence[str] | None,
    level: int,
) -> Any:
    try:
        return builtins.__import__(name, globals, locals, fromlist or (), level)
    except ImportError as error:
        if error.name is None or not EXTERNAL.startswith(error.name):
            raise
        missing = error
    raise ImportError(_neighbours().relative_import_advice(name), name=name) from missing


PLUGIN_BUILTINS: dict[str, Any] = {**vars(builtins), "__import__": _import, "__salt_system_encoding__": "utf-8"}
"""What stands under ``__builtins__`` in the globals of a plugin."""


class _PackageLoader:
    """The loader of a module of a plugin package, which gets the builtins of plugins."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Let the module's own loader create it."""
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Let the module's own loader run it, with the builtins of plugins."""
        module.__dict__["__builtins__"] = PLUGIN_BUILTINS
        self._loader.exec_module(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _PackageFinder:
    """Finds the modules of installed plugin packages as everybody else does, and gives them `_PackageLoader`."""

    def __init__(self) -> None:
        self.packages: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not any(fullname == package or fullname.startswith(f"{package}.") for package in self.packages):
            return None
        for finder in sys.meta_path:
            if finder is not self:
                spec = finder.find_spec(fullname, path, target)
                if spec is not None:
                    if hasattr(spec.loader, "exec_module"):
                        spec.loader = _PackageLoader(spec.loader)  # type: ignore[assignment]  # it stands in for one
                    return spec
        return None


_finder = _PackageFinder()


def serve_package(package: str) -> None:
    """Let what is imported from an installed plugin package, from now on, find ``salt``."""
    _finder.packages.add(package)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
