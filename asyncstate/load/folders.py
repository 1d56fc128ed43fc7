"""The folders of plugins: those that are searched, the files in them, and whether root may trust them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from asyncstate.errors import ConfigError
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from asyncstate.dunders import FileRoots, PluginKind

FOLDER_OPTIONS: dict[PluginKind, str] = {
    "states": "states_dirs",
    "modules": "module_dirs",
    "grains": "grains_dirs",
    "utils": "utils_dirs",
    "renderers": "render_dirs",
}
"""The option that names the folders of each kind of plugin."""
_CODE = (".py", ".so")
_MOST_NAMED = 5


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


def plugin_folders(
    kind: str, opts: Mapping[str, Any], file_client: FileRoots, *, bundled: bool = False
) -> list[PluginFolder]:
    """Return the folders to search for plugins of ``kind`` before installed ones, with ``bundled`` also that of ours.

    They are the file roots of every environment (base first), then ``<module_dirs>/<kind>`` and
    ``<module_dirs>/_<kind>``, ``<extension_modules>/<kind>``, and the directories of the kind's own option
    (``states_dirs``, ``module_dirs`` …). Their plugins can import each other, the files in the folders of ``utils``,
    and the interfaces of the tree.
    """
    kinds = dict.fromkeys((kind, "utils", "interfaces"))
    neighbours = tuple((each, path) for each in kinds for path in _folder_paths(each, opts, file_client))
    own = [PluginFolder(path, neighbours=neighbours) for each, path in neighbours if each == kind]
    return [*own, *bundled_folder(kind)] if bundled else own


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


def require_trusted_plugins(opts: Mapping[str, Any], file_client: FileRoots) -> None:
    """Raise ConfigError, as root, if others can change plugins of the tree or of the folders that options name.

    The option ``trust_writable`` allows it. Installed and bundled plugins are as safe as this program itself.
    """
    if opts.get("trust_writable") is True:
        return
    found = writable_plugins(opts, file_client)
    if found:
        named = "".join(f"\n{path}: {user}" for path, user in found[:_MOST_NAMED])
        more = f"\nand {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        raise ConfigError(
            "root does not run plugins that others can change. Give them and their folders to root (chown root, "
            f"chmod go-w), or use --trust-writable. Who can change what:{named}{more}"
        )


def writable_plugins(opts: Mapping[str, Any], file_client: FileRoots) -> list[tuple[str, str]]:
    """Return the plugins, and folders of plugins, that accounts other than root can change, each with the account."""
    from asyncstate.filesystem import writable_below  # noqa: PLC0415 - completion needs the folders only

    folders = {
        folder.path: None
        for kind in (*FOLDER_OPTIONS, "interfaces")
        for folder in plugin_folders(kind, opts, file_client)
    }
    return [entry for folder in folders for entry in writable_below(folder, _CODE)]
