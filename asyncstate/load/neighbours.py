"""What plugins of a tree import from each other: ``import helper``, as in Salt, and ``from _interfaces.x import Y``.

Salt puts the folders of a tree's plugins on ``sys.path`` while it loads one. Here the importing file says which folders
are meant, so that two trees in one process each see their own helper of some name: nothing is added to ``sys.path``,
and a helper is in ``sys.modules`` under the private name of a plugin only. It has the dunders, as every plugin.
"""

from __future__ import annotations

import builtins
import importlib
import os
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.load.folders import PluginFile, PluginFolder
from asyncstate.load.imports import import_external, neighbours_of, origins, plugin_lock
from asyncstate.load.salt_import import INTERFACES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.load.imports import Origin


def importer(namespace: Mapping[str, object] | None) -> str | None:
    """Return the name of the plugin that ``namespace``, or the package it is a part of, belongs to."""
    name = str((namespace or {}).get("__name__") or "")
    while name and name not in origins:
        name = name.rpartition(".")[0]
    return name or None


class Statement(NamedTuple):
    """An import statement in the plugin ``importing``: ``import name``, or ``from name import`` the ``names``."""

    importing: str
    name: str
    names: tuple[str, ...]
    namespace: Mapping[str, object] | None

    @property
    def origin(self) -> Origin:
        """Where the plugin comes from."""
        return origins[self.importing]

    @property
    def folders(self) -> tuple[tuple[str, str], ...]:
        """The folders of the plugin's neighbours."""
        return neighbours_of(self.origin.plugin.folder, self.origin.kind)


def import_neighbour(statement: Statement) -> ModuleType | None:
    """Do what the statement says, if a neighbour has that name; None if none has."""
    first, _, rest = statement.name.partition(".")
    if first == INTERFACES:
        return _from_interfaces(statement._replace(name=rest))
    for kind, folder in statement.folders:
        if kind != "interfaces" or kind == statement.origin.kind:
            plugin = _file(statement, kind, folder)
            if plugin is not None:
                return _imported(statement, plugin, kind)
    return None


def import_interface(statement: Statement) -> ModuleType | None:
    """Import an interface file of the tree; None if there is none of that name."""
    for kind, folder in statement.folders:
        plugin = _file(statement, kind, folder) if kind == "interfaces" else None
        if plugin is not None:
            return _imported(statement, plugin, kind)
    return None


def _from_interfaces(statement: Statement) -> ModuleType:
    """Import ``_interfaces.name``. The package itself has nothing but the files in its folders."""
    if statement.name and statement.names:
        return _required(statement)
    package = ModuleType(INTERFACES)
    for each in [statement.name] if statement.name else statement.names:
        module = _required(statement._replace(name=each, names=()))
        setattr(package, each.partition(".")[0], module)
    return package


def _required(statement: Statement) -> ModuleType:
    module = import_interface(statement)
    if module is None:
        file = f"{statement.name.partition('.')[0]}.py"
        folders = " or ".join(path for kind, path in statement.folders if kind == "interfaces")
        raise ModuleNotFoundError(f"there is no interface file {file} in {folders}", name=statement.name)
    return module


def _file(statement: Statement, kind: str, folder: str) -> PluginFile | None:
    """Return the file or package of a name in a folder of neighbours; private ones count, too."""
    name = statement.name.partition(".")[0]
    kinds = dict.fromkeys((kind, "utils", "interfaces"))
    around = tuple(each for wanted in kinds for each in statement.folders if each[0] == wanted)
    place = PluginFolder(folder, neighbours=around)
    path = os.path.join(folder, name)
    if os.path.isfile(os.path.join(path, "__init__.py")):
        return PluginFile(name, path, place, is_package=True)
    if os.path.isfile(f"{path}.py"):
        return PluginFile(name, f"{path}.py", place)
    return None


def _imported(statement: Statement, plugin: PluginFile, kind: str) -> ModuleType:
    with plugin_lock(plugin.source):
        # Without the lock this thread is importing that very file already: it gets what there is of it, as in Python.
        module = import_external(plugin, kind)
    statement.origin.needs[module.__name__] = None
    rest = statement.name.partition(".")[2]
    name = f"{module.__name__}.{rest}" if rest else module.__name__
    if statement.names:
        found: ModuleType = builtins.__import__(name, statement.namespace, None, statement.names, 0)
        return found
    if rest:
        importlib.import_module(name)
    return module


def relative_import_advice(name: str) -> str:
    """Say what to write in place of ``from .name import …`` in a file that is no package."""
    this = name or "name"
    return (
        f"a plugin file of a tree is no package, so that 'from .{name} import …' finds nothing: write "
        f"'import {this}' or 'from {this} import …' for a file beside it or in _utils, and "
        f"'from {INTERFACES}.{this} import …' for an interface in {INTERFACES}/"
    )
