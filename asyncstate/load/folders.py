"""Where plugins are looked for, and which files stand there."""

from __future__ import annotations

import logging
import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate.load.salt_import import serve_package

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

log: logging.Logger = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "asyncstate.loader"


class PluginFolder(NamedTuple):
    """A directory of plugins. ``package`` is the import name of that directory, if it is one.

    ``neighbours`` are the folders whose files the plugins in it may import by name, each with its kind; None stands for
    the folder itself, and ``_utils`` and ``_interfaces`` beside it.
    """

    path: str
    package: str | None = None
    bundled: bool = False
    neighbours: tuple[tuple[str, str], ...] | None = None


class PluginFile(NamedTuple):
    """A plugin that was found but not imported: a file, or a directory with an ``__init__.py``."""

    name: str
    path: str
    folder: PluginFolder
    is_package: bool = False

    @property
    def source(self) -> str:
        """The file whose text is the plugin's."""
        return os.path.join(self.path, "__init__.py") if self.is_package else self.path

    @property
    def import_name(self) -> str | None:
        """The name under which an ordinary ``import`` would find it."""
        return f"{self.folder.package}.{self.name}" if self.folder.package else None


def scan(folders: Iterable[PluginFolder], disabled: Iterable[str] = ()) -> dict[str, PluginFile]:
    """List the plugins of ``folders`` by file name; the first folder that has a name keeps it.

    Nothing is opened. Folders that do not exist are passed over; names that begin with ``_`` are private.
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
    if suffix == ".py" and entry.is_file():  # a pipe would hold up whoever imports it
        return PluginFile(stem, entry.path, folder)
    if not suffix and entry.is_dir() and os.path.isfile(os.path.join(entry.path, "__init__.py")):
        return PluginFile(stem, entry.path, folder, is_package=True)
    return None


def bundled_folder(kind: str) -> list[PluginFolder]:
    """Return the folder of the plugins that come with this package: states and execution modules only."""
    if kind not in {"states", "modules"}:
        return []
    import importlib  # noqa: PLC0415 - needed by a process that loads plugins only

    package = importlib.import_module(f"asyncstate.{kind}")
    return [PluginFolder(str(path), package.__name__, bundled=True) for path in package.__path__]


def entry_point_folders(kind: str) -> list[PluginFolder]:
    """Return the folders that installed distributions offer for ``kind`` through the group ``asyncstate.loader``.

    As for Salt extensions, an entry point names a package with a sub-directory per kind, or a function that returns
    ``{kind: [directory, …]}``. One that cannot be loaded is logged and left out.
    """
    folders: list[PluginFolder] = []
    for name, target in _entry_points():
        if not target.attr:
            serve_package(target.module)
        try:
            folders.extend(_offered(target, kind))
        except Exception:
            log.warning("plugin entry point %s cannot be loaded", name, exc_info=True)
    return folders


def _offered(target: Any, kind: str) -> Iterator[PluginFolder]:
    loaded = target.load()
    if callable(loaded):
        for path in loaded().get(kind, ()):
            yield PluginFolder(os.fspath(path))
        return
    for path in loaded.__path__:
        folder = Path(path) / kind
        if folder.is_dir():
            yield PluginFolder(str(folder), f"{loaded.__name__}.{kind}")


@lru_cache(maxsize=1)
def _entry_points() -> tuple[tuple[str, Any], ...]:
    if not _any_distribution_has_plugins():
        return ()
    from importlib.metadata import entry_points  # noqa: PLC0415 - costs 20 ms that nearly nobody needs

    return tuple((point.name, point) for point in sorted(entry_points(group=ENTRY_POINT_GROUP)))


def _any_distribution_has_plugins() -> bool:
    """Look for the group's name in the entry points of what is installed: a hundred times cheaper than parsing all."""
    wanted = ENTRY_POINT_GROUP.encode()
    for place in sys.path:
        try:
            with os.scandir(place or ".") as entries:
                metadata = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for path in metadata:
            try:
                if wanted in (Path(path) / "entry_points.txt").read_bytes():
                    return True
            except OSError:
                continue
    return False
