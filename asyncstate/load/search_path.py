"""The search path of plugins: the folders of the tree, of the options, and of this package."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate.load.folders import PluginFolder, folder_in_tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.dunders import FileRoots, PluginKind

FOLDER_OPTIONS: dict[PluginKind, str] = {
    "states": "states_dirs",
    "modules": "module_dirs",
    "grains": "grains_dirs",
    "utils": "utils_dirs",
    "renderers": "render_dirs",
}
"""The option that names the folders of each kind of plugin."""


def plugin_folders(kind: str, opts: Mapping[str, Any], file_client: FileRoots) -> list[PluginFolder]:
    """Return the folders to search for plugins of ``kind`` before installed and bundled ones.

    They are the file roots of every environment (base first), then ``<module_dirs>/<kind>`` and
    ``<module_dirs>/_<kind>``, ``<extension_modules>/<kind>``, and the directories of the kind's own option
    (``states_dirs``, ``module_dirs`` …). Their plugins can import each other, the files in the folders of ``utils``,
    and the interfaces of the tree.
    """
    kinds = dict.fromkeys((kind, "utils", "interfaces"))
    neighbours = tuple((each, path) for each in kinds for path in _folder_paths(each, opts, file_client))
    return [PluginFolder(path, neighbours=neighbours) for each, path in neighbours if each == kind]


def _folder_paths(kind: str, opts: Mapping[str, Any], file_client: FileRoots) -> list[str]:
    paths = [
        os.path.join(root, folder_in_tree(kind))
        for env in sorted(file_client.envs(), key=lambda env: env != "base")
        for root in file_client.roots(env)
    ]
    module_dirs = list(opts.get("module_dirs") or ())
    for directory in reversed(module_dirs):
        paths += [os.path.join(directory, kind), os.path.join(directory, folder_in_tree(kind))]
    if opts.get("extension_modules"):
        paths.append(os.path.join(opts["extension_modules"], kind))
    paths += next((opts.get(option) or [] for each, option in FOLDER_OPTIONS.items() if each == kind), [])
    return list(dict.fromkeys(map(str, paths)))


def bundled_folder(kind: str) -> list[PluginFolder]:
    """Return the folder of the plugins that come with this package: states and execution modules only."""
    if kind not in {"states", "modules"}:
        return []
    import importlib  # noqa: PLC0415 - needed by a process that loads plugins only

    package = importlib.import_module(f"asyncstate.{kind}")
    return [PluginFolder(str(path), package.__name__, bundled=True) for path in package.__path__]
