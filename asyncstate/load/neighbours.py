"""Imports between the plugins of a tree: ``import helper``, as in Salt, and ``from _interfaces.x import Y``.

This finds the file that such a statement means; `imports` imports it. Salt puts the folders of a tree's plugins on
``sys.path`` while it loads one. Here the importing file determines the folders, so that two trees in one process may
each have a helper of the same name: nothing is added to ``sys.path``, and a helper is in ``sys.modules`` only under
the private name of a plugin. It has the dunders, like every plugin.

The origins of all plugins that were imported tell who imports, and whether the files have changed since.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from asyncstate.load.folders import INTERFACES, PluginFile, PluginFolder, folder_in_tree
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping


class Origin(Value):
    """The origin of an imported plugin. ``needs`` holds the module names of the neighbours it imported."""

    plugin: PluginFile
    kind: str
    base: str
    needs: dict[str, None]


origins: dict[str, Origin] = {}
"""Every plugin imported from outside installed packages, by module name."""
newest: dict[str, str] = {}
"""The name of the module that was imported last for each version of a file (`Origin.base`)."""


def is_current(name: str) -> bool:
    """Return whether all neighbours that a plugin imported are unchanged since."""
    seen = {name}
    waiting = [*origins[name].needs] if name in origins else []
    while waiting:
        needed = waiting.pop()
        if needed in seen:
            continue
        seen.add(needed)
        origin = origins.get(needed)
        if origin is None or newest.get(origin.base, needed) != needed:
            return False
        try:
            now = version(origin.plugin, origin.kind)
        except OSError:
            return False
        if not origin.base.endswith(now):
            return False
        waiting.extend(origin.needs)
    return True


def neighbours_of(folder: PluginFolder, kind: str) -> tuple[tuple[str, str], ...]:
    """Return the folders, each with its kind, whose files the plugins of ``kind`` in ``folder`` may import by name."""
    if folder.neighbours is not None:
        return folder.neighbours
    beside = os.path.dirname(folder.path)
    others = (
        ("utils", os.path.join(beside, folder_in_tree("utils"))),
        ("interfaces", os.path.join(beside, INTERFACES)),
    )
    return ((kind, folder.path), *(other for other in others if other[0] != kind))


def version(plugin: PluginFile, kind: str) -> str:
    """Return a digest of the file's path, its neighbours' folders, and the time and size of all its files.

    So two runtimes share the modules of folders that both use, and no others.
    """
    digest = hashlib.sha256(os.path.realpath(plugin.path).encode())
    for folder in neighbours_of(plugin.folder, kind):
        digest.update("\0".join(folder).encode() + b"\0")
    for path in _sources(plugin):
        status = os.stat(path)
        digest.update(f"{path}\0{status.st_mtime_ns}\0{status.st_size}\0".encode())
    return digest.hexdigest()[:12]


def _sources(plugin: PluginFile) -> list[str]:
    if not plugin.is_package:
        return [plugin.path]
    return sorted(
        os.path.join(folder, name)
        for folder, _, names in os.walk(plugin.path)
        for name in names
        if name.endswith(".py")
    )


def importer(namespace: Mapping[str, object] | None) -> str | None:
    """Return the name of the plugin that ``namespace``, or its package, belongs to; None if it belongs to none."""
    name = str((namespace or {}).get("__name__") or "")
    while name and name not in origins:
        name = name.rpartition(".")[0]
    return name or None


class Statement(Value):
    """An import statement in the plugin ``importing``: ``import name``, or ``from name import`` the ``names``."""

    importing: str
    name: str
    names: tuple[str, ...]
    namespace: Mapping[str, object] | None

    @property
    def origin(self) -> Origin:
        """The origin of the importing plugin."""
        return origins[self.importing]

    @property
    def folders(self) -> tuple[tuple[str, str], ...]:
        """The folders of the plugin's neighbours."""
        return neighbours_of(self.origin.plugin.folder, self.origin.kind)


def neighbour(statement: Statement) -> tuple[PluginFile, str] | None:
    """Return the file that ``import name`` in a plugin means, and the kind of plugin it is; None if there is none."""
    for kind, folder in statement.folders:
        if kind != "interfaces" or kind == statement.origin.kind:
            plugin = _file(statement, kind, folder)
            if plugin is not None:
                return plugin, kind
    return None


def interface(statement: Statement) -> tuple[PluginFile, str] | None:
    """Return the interface file of the tree that the statement means, and its kind; None if there is none."""
    for kind, folder in statement.folders:
        plugin = _file(statement, kind, folder) if kind == "interfaces" else None
        if plugin is not None:
            return plugin, kind
    return None


def required_interface(statement: Statement) -> tuple[PluginFile, str]:
    """Return what `interface` returns. Raises ModuleNotFoundError, naming the searched folders, if there is none."""
    found = interface(statement)
    if found is None:
        file = f"{statement.name.partition('.')[0]}.py"
        folders = " or ".join(path for kind, path in statement.folders if kind == "interfaces")
        raise ModuleNotFoundError(f"there is no interface file {file} in {folders}", name=statement.name)
    return found


def _file(statement: Statement, kind: str, folder: str) -> PluginFile | None:
    """Return the file or package with a name in a folder of neighbours, even if the name is private."""
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


def relative_import_advice(name: str) -> str:
    """Return the statement to write instead of ``from .name import …`` in a file that is not part of a package."""
    this = name or "name"
    return (
        f"a plugin file of a tree is no package, so that 'from .{name} import …' finds nothing: write "
        f"'import {this}' or 'from {this} import …' for a file beside it or in _utils, and "
        f"'from {INTERFACES}.{this} import …' for an interface in {INTERFACES}/"
    )
