"""Importing a plugin file: once per process and version of the file, by one thread at a time."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import itertools
import os
import sys
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
)
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.dunders import INJECTED
from asyncstate.errors import LoaderError, meant_for_program
from asyncstate.load.plugin_log import PluginLogger
from asyncstate.load.reasons import told
from asyncstate.load.salt_import import EXTERNAL, PLUGIN_BUILTINS, serve_package

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import CodeType, ModuleType

    from asyncstate.load.folders import PluginFile, PluginFolder


class ImportRefused(LoaderError):
    """A plugin file cannot be imported; the text is the reason."""


def import_plugin(plugin: PluginFile, kind: str) -> ModuleType:
    """Import ``plugin``, or return what was imported before if the file has not changed since.

    Plugins of installed packages are imported under their own names, so that code importing them sees the same module.
    Others are imported as ``asyncstate.ext.<kind>.<name>_<version>``, with the dunders in their namespace, and can
    import the files of their neighbouring folders (`neighbours`). Nothing is written beside them. Whatever goes wrong
    becomes ImportRefused. The caller holds ``plugin_lock``.

    Both kinds can import ``salt``; what comes with this package cannot, and need not.
    """
    try:
        if plugin.import_name is not None:
            if not plugin.folder.bundled:
                serve_package(str(plugin.folder.package).rpartition(".")[0] or str(plugin.folder.package))
            return _import_packaged(plugin.import_name)
        return import_external(plugin, kind)
    except BaseException as error:
        if meant_for_program(error):
            raise
        raise ImportRefused(told(error, plugin.source)) from error


def _import_packaged(name: str) -> ModuleType:
    module = importlib.import_module(name)
    PluginLogger.adopt(name)
    for dunder, value in INJECTED.items():
        module.__dict__.setdefault(dunder, value)
    return module


def import_external(plugin: PluginFile, kind: str) -> ModuleType:
    """Import a file that is no part of an installed package. Raises what importing it raises."""
    base = f"{EXTERNAL}{kind}.{plugin.name}_{_version(plugin, kind)}"
    before = name = _newest.get(base, base)
    module = sys.modules.get(name)
    if module is not None:
        if is_current(name):
            return module
        name = f"{base}_{next(_generations)}"
    spec = importlib.util.spec_from_file_location(
        name,
        plugin.source,
        loader=_PluginLoader(name, plugin.source),
        submodule_search_locations=[plugin.path] if plugin.is_package else None,
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import {plugin.source}")
    _install_finder()
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    origins[name] = Origin(plugin, kind, base, {})
    _newest[base] = name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        origins.pop(name, None)
        _newest[base] = before
        raise
    return module


class Origin(NamedTuple):
    """Where an imported plugin comes from. ``needs`` are the neighbours it has imported, by module name."""

    plugin: PluginFile
    kind: str
    base: str
    needs: dict[str, None]


origins: dict[str, Origin] = {}
"""Every plugin imported from a file of its own, by the name of its module."""
_newest: dict[str, str] = {}
_generations = itertools.count(1)


def is_current(name: str) -> bool:
    """Tell whether nothing that a plugin imported from its neighbours has changed since."""
    seen = {name}
    waiting = [*origins[name].needs] if name in origins else []
    while waiting:
        needed = waiting.pop()
        if needed in seen:
            continue
        seen.add(needed)
        origin = origins.get(needed)
        if origin is None or _newest.get(origin.base, needed) != needed:
            return False
        try:
            version = _version(origin.plugin, origin.kind)
        except OSError:
            return False
        if not origin.base.endswith(version):
            return False
        waiting.extend(origin.needs)
    return True


def neighbours_of(folder: PluginFolder, kind: str) -> tuple[tuple[str, str], ...]:
    """Return the folders, each with its kind, whose files the plugins of ``kind`` in ``folder`` may import by name."""
    if folder.neighbours is not None:
        return folder.neighbours
    beside = os.path.dirname(folder.path)
    others = (("utils", os.path.join(beside, "_utils")), ("interfaces", os.path.join(beside, "_interfaces")))
    return ((kind, folder.path), *(other for other in others if other[0] != kind))


def _version(plugin: PluginFile, kind: str) -> str:
    """Digest of the file's place, its neighbours' folders, and the time and size of everything it consists of.

    So two runtimes share what they import from the same folders, and what they import from others they do not.
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


class _PluginLoader(SourceFileLoader):
    """Compiles from source every time: file roots get no ``__pycache__``, and no stale one is believed."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)

    def exec_module(self, module: ModuleType) -> None:
        """Run the file with the dunders in its namespace, builtins that know ``salt``, and a logger with Salt's levels.

        The dunders are put there again afterwards: many Salt modules begin with ``__salt__ = {}`` to please a linter.
        """
        PluginLogger.adopt(module.__name__)
        module.__dict__["__builtins__"] = PLUGIN_BUILTINS
        module.__dict__.update(INJECTED)
        super().exec_module(module)
        module.__dict__.update(INJECTED)


class _SubmoduleFinder:
    """Finds the submodules of plugins that are directories."""

    @staticmethod
    def find_spec(fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        if path is None or not fullname.startswith(EXTERNAL):
            return None
        for folder in path:
            finder = FileFinder(folder, (_PluginLoader, SOURCE_SUFFIXES), (ExtensionFileLoader, EXTENSION_SUFFIXES))
            spec = finder.find_spec(fullname)
            if spec is not None:
                return spec
        return None


def _install_finder() -> None:
    if _SubmoduleFinder not in sys.meta_path:
        sys.meta_path.insert(0, _SubmoduleFinder)


class _Chain:
    """A load under way: the thread that began it, and the threads its ``__virtual__`` calls are carried to."""

    __slots__ = ("awaits",)

    def __init__(self) -> None:
        self.awaits: list[str] = []

    def leads_to(self, other: _Chain) -> bool:
        """Tell whether this chain waits, through whatever others, for a plugin that ``other`` is loading."""
        if self is other:
            return True
        return any((holder := _holders.get(key)) is not None and holder.leads_to(other) for key in self.awaits)


_condition = threading.Condition()
_holders: dict[str, _Chain] = {}
_chain: ContextVar[_Chain | None] = ContextVar("asyncstate_load_chain", default=None)


@contextmanager
def plugin_lock(key: str) -> Iterator[bool]:
    """Hold the lock of one plugin file while it is imported and asked for its names.

    Yields False, without waiting, where waiting could never end: this load came here from that very plugin, or the
    plugin is loaded by a thread that itself waits for one that this load holds.
    """
    me = _chain.get() or _Chain()
    with _condition:
        while (holder := _holders.get(key)) is not None and not holder.leads_to(me):
            me.awaits.append(key)
            try:
                _condition.wait()
            finally:
                me.awaits.remove(key)
        if holder is None:
            _holders[key] = me
    if holder is not None:
        yield False
        return
    token = _chain.set(me)
    try:
        yield True
    finally:
        _chain.reset(token)
        with _condition:
            del _holders[key]
            _condition.notify_all()
