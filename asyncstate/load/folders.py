"""The folders of plugins, and the plugin files in them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable


def folder_in_tree(kind: str) -> str:
    """Return the name of the folder in a file root that holds the plugins of a kind."""
    return f"_{kind}"


INTERFACES: Final = folder_in_tree("interfaces")
"""The name under which the plugins of a tree import its interfaces; their folder has the same name."""


class PluginFolder(Value):
    """A directory of plugins. ``package`` is its import name if it is a package.

    ``neighbours`` are the folders whose files its plugins may import by name, each with its kind; None means the
    folder itself and ``_utils`` and ``_interfaces`` beside it.
    """

    path: str
    package: str | None = None
    bundled: bool = False
    neighbours: tuple[tuple[str, str], ...] | None = None


class PluginFile(Value):
    """A plugin that was found but not imported: a file, or a directory with an ``__init__.py``."""

    name: str
    path: str
    folder: PluginFolder
    is_package: bool = False

    @property
    def source(self) -> str:
        """The file with the plugin's code."""
        return os.path.join(self.path, "__init__.py") if self.is_package else self.path

    @property
    def import_name(self) -> str | None:
        """The name under which an ordinary ``import`` would find it."""
        return f"{self.folder.package}.{self.name}" if self.folder.package else None


def scan(folders: Iterable[PluginFolder], disabled: Iterable[str] = ()) -> dict[str, PluginFile]:
    """List the plugins of ``folders`` by file name; of files with the same name, the one in the first folder counts.

    No file is opened. Folders that do not exist are skipped, and so are names that begin with ``_``: they are private.
    """
    found: dict[str, PluginFile] = {}
    hidden = set(disabled)
    for folder in folders:
        for plugin in _plugins_in(folder):
            if plugin.name not in hidden:
                found.setdefault(plugin.name, plugin)
    return found


def _plugins_in(folder: PluginFolder) -> list[PluginFile]:
    try:
        with os.scandir(folder.path) as entries:
            plugins = [plugin for entry in entries if (plugin := _plugin(folder, entry)) is not None]
    except OSError:
        return []
    plugins.sort(key=lambda plugin: (plugin.name, not plugin.is_package))
    return plugins


def _plugin(folder: PluginFolder, entry: os.DirEntry[str]) -> PluginFile | None:
    if entry.name.startswith(("_", ".")):
        return None
    stem, suffix = os.path.splitext(entry.name)
    if suffix == ".py" and entry.is_file():  # importing a named pipe would block
        return PluginFile(stem, entry.path, folder)
    if not suffix and entry.is_dir() and os.path.isfile(os.path.join(entry.path, "__init__.py")):
        return PluginFile(stem, entry.path, folder, is_package=True)
    return None
