"""Importing a plugin file: once per process and version of the file, by one thread at a time.

Plugins of a tree and of installed packages have the builtins of plugins, whose import statement finds ``salt`` and the
files of their neighbours.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import itertools
import sys
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
)
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from asyncstate.dunders.proxies import INJECTED, TEXTS, TextBuiltins
from asyncstate.errors import EXTERNAL, LoaderError, meant_for_program
from asyncstate.filesystem import read_start
from asyncstate.load import neighbours
from asyncstate.load.folders import INTERFACES
from asyncstate.load.neighbours import Origin, Statement, is_current, newest, origins, version
from asyncstate.logs import adopt_loggers, own_name, plugin_logger
from asyncstate.salt_compat import SALT, builtins_with, import_salt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from asyncstate.load.folders import PluginFile


class _Chain:
    """A load under way: the thread that began it, and the threads that run calls of its ``__virtual__``."""

    __slots__ = ("awaits",)

    def __init__(self) -> None:
        self.awaits: list[str] = []

    def leads_to(self, other: _Chain) -> bool:
        """Return whether this chain waits, directly or through others, for a plugin that ``other`` is loading."""
        if self is other:
            return True
        return any((holder := _holders.get(key)) is not None and holder.leads_to(other) for key in self.awaits)


_condition = threading.Condition()
_holders: dict[str, _Chain] = {}
_chain: ContextVar[_Chain | None] = ContextVar("asyncstate_load_chain", default=None)


@contextmanager
def plugin_lock(key: str) -> Iterator[bool]:
    """Hold the lock of one plugin file while it is imported and its ``__virtual__`` runs.

    Yields False at once if waiting would be a deadlock: this load is part of loading that very plugin, or the thread
    that loads the plugin itself waits for one that this load holds.
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


_generations = itertools.count(1)

foreign: set[str] = set()
"""The plugin files, not bundled, that this process tried to import: the tree's, and installed packages'."""


class ImportRefused(LoaderError):
    """A plugin file cannot be imported; the message is the reason."""


def import_plugin(plugin: PluginFile, kind: str) -> ModuleType:
    """Import ``plugin``, or return the module imported before if the file has not changed since.

    Plugins of installed packages are imported under their own names, so that code importing them sees the same module.
    Others are imported as ``asyncstate.ext.<kind>.<name>_<version>``, with the dunders in their namespace, and can
    import the files of their neighbouring folders (`neighbours`). Nothing is written beside them. Raises ImportRefused
    for any failure. The caller holds ``plugin_lock``.

    Both kinds can import ``salt``; the plugins of this package cannot, and need not.
    """
    if not plugin.folder.bundled:
        foreign.add(plugin.source)
    try:
        if plugin.import_name is not None:
            if not plugin.folder.bundled:
                serve_package(str(plugin.folder.package).rpartition(".")[0] or str(plugin.folder.package))
            return _import_packaged(plugin.import_name)
        return import_external(plugin, kind)
    except BaseException as error:
        if meant_for_program(error):
            raise
        from asyncstate.load.reasons import told  # noqa: PLC0415 - an error

        raise ImportRefused(told(error, plugin.source)) from error


def _import_packaged(name: str) -> ModuleType:
    _install_finder()
    module = importlib.import_module(name)
    parts = (
        each for each in vars(module).values() if isinstance(each, ModuleType) and each.__name__.startswith(f"{name}.")
    )
    for part in (module, *parts):  # a program may have imported them before
        adopt_loggers(vars(part))
    for dunder, value in INJECTED.items():
        module.__dict__.setdefault(dunder, value)
    return module


def import_external(plugin: PluginFile, kind: str) -> ModuleType:
    """Import a file that does not belong to an installed package. Raises the errors of the import."""
    base = f"{EXTERNAL}{kind}.{plugin.name}_{version(plugin, kind)}"
    before = name = newest.get(base, base)
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
    newest[base] = name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        origins.pop(name, None)
        newest[base] = before
        raise
    return module


def serve_package(package: str) -> None:
    """Let modules of an installed package of plugins import ``salt``, from now on."""
    give_builtins(package, PLUGIN_BUILTINS)


_BUNDLED = ("asyncstate.states.", "asyncstate.modules.")
_DEPTH = len(f"{EXTERNAL}kind.name".split("."))
"""The number of parts in the name of a plugin's module; a submodule of a plugin that is a directory has more."""


_LARGEST = 1 << 23
"""The largest plugin file, in bytes: compiling a larger one takes gigabytes."""


_held: dict[str, dict[str, str]] = {}
"""The sha256 of the files that plugins in a folder may be imported from, by path, for each held folder."""


def hold_plugins(folders: Iterable[str], contents: dict[str, str]) -> None:
    """Import plugins in these folders only from these files, while their sha256 is the same."""
    _held.update(dict.fromkeys(folders, contents))


def release_plugins(folders: Iterable[str]) -> None:
    """Import plugins in these folders from any file again."""
    for folder in folders:
        _held.pop(folder, None)


def _require_held(path: str, data: bytes) -> None:
    for folder, contents in _held.items():
        if path.startswith(f"{folder}/") and sha256(data).hexdigest() != contents.get(path):
            raise ImportError(f"{path} changed after the tree was compared with the plan, so it is not imported")


class _PluginLoader(SourceFileLoader):
    """Compiles from source every time: it writes no ``__pycache__`` into file roots and reads no stale one."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        data = read_start(path, _LARGEST + 1)
        if len(data) > _LARGEST:
            raise ImportError(f"{path} has more than {_LARGEST >> 20} MiB, the most that a plugin file may have")
        _require_held(path, data)
        return self.source_to_code(data, path)

    def exec_module(self, module: ModuleType) -> None:
        """Run the file with the dunders in its namespace, builtins that can import ``salt``, and a logger of its name.

        The dunders are set again afterwards: many Salt modules begin with ``__salt__ = {}`` to please a linter. A file
        that reads ``__env__`` or another text finds it in its builtins, where it is a ``str``.
        """
        origin = origins.get(".".join(module.__name__.split(".")[:_DEPTH]))
        if origin is not None:
            plugin_logger(f"{origin.kind}.{origin.plugin.name}", module.__name__)
        code = self.get_code(module.__name__)
        injected, builtins_of_it = INJECTED, PLUGIN_BUILTINS
        if not TEXTS.keys().isdisjoint(_names(code)):
            injected = {name: value for name, value in INJECTED.items() if name not in TEXTS}
            builtins_of_it = TextBuiltins(PLUGIN_BUILTINS)
        module.__dict__["__builtins__"] = builtins_of_it
        module.__dict__.update(injected)
        exec(code, module.__dict__)  # noqa: S102 - as any import does
        module.__dict__.update(injected)
        for name in TEXTS.keys() - injected.keys():
            module.__dict__.pop(name, None)
        adopt_loggers(vars(module))


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that code and the functions in it read."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


class _SubmoduleFinder:
    """Finds the submodules of plugins that are directories.

    It also names the logger of each file of a bundled plugin that is about to be imported.
    """

    @staticmethod
    def find_spec(fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname.startswith(_BUNDLED):
            plugin_logger(own_name(fullname), fullname)
            return None
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


def _import(
    name: str,
    globals: Mapping[str, object] | None = None,
    locals: Mapping[str, object] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> Any:
    """Import as Python does, but also ``salt`` and the files in the plugin's neighbouring folders.

    Raises ModuleNotFoundError or ImportError with a hint at the right statement.
    """
    if level:
        return _import_relative(name, globals, locals, fromlist, level)
    first = name.partition(".")[0]
    if first == SALT:
        return _interface_of_tree(name, globals, fromlist) or import_salt(name, globals, locals, fromlist)
    if first != INTERFACES:
        try:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        except ModuleNotFoundError as error:
            if error.name != first:
                raise
            absent = error
    else:
        absent = ModuleNotFoundError(f"only plugins of a tree can import {name}", name=name)
    importing = neighbours.importer(globals)
    if importing is not None:
        found = _import_neighbour(Statement(importing, name, tuple(fromlist or ()), globals))
        if found is not None:
            return found
    raise absent


def _interface_of_tree(name: str, globals: Mapping[str, object] | None, fromlist: Sequence[str] | None) -> Any:
    """Return the tree's interface that ``from salt.interfaces.queue import …`` means, None if it has none."""
    if not fromlist or not name.startswith("salt.interfaces."):
        return None
    importing = neighbours.importer(globals)
    if importing is None:
        return None
    module = name.removeprefix("salt.interfaces.").removesuffix("_module")
    statement = Statement(importing, module, tuple(fromlist), globals)
    found = neighbours.interface(statement)
    return None if found is None else _imported(statement, *found)


def _import_neighbour(statement: Statement) -> ModuleType | None:
    """Execute the statement if a neighbour has that name; None if none has."""
    first, _, rest = statement.name.partition(".")
    if first == INTERFACES:
        return _import_interfaces(statement.replaced(name=rest))
    found = neighbours.neighbour(statement)
    return None if found is None else _imported(statement, *found)


def _import_interfaces(statement: Statement) -> ModuleType:
    """Import ``_interfaces.name``. The package itself contains only the files in its folders."""
    if statement.name and statement.names:
        return _imported(statement, *neighbours.required_interface(statement))
    package = ModuleType(INTERFACES)
    for each in [statement.name] if statement.name else statement.names:
        one = statement.replaced(name=each, names=())
        setattr(package, each.partition(".")[0], _imported(one, *neighbours.required_interface(one)))
    return package


def _imported(statement: Statement, plugin: PluginFile, kind: str) -> ModuleType:
    with plugin_lock(plugin.source):
        # If the lock was refused, this thread is already importing this file: it gets the unfinished module, as
        # in Python.
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
    raise ImportError(neighbours.relative_import_advice(name), name=name) from missing


PLUGIN_BUILTINS: dict[str, Any] = builtins_with(_import)
"""The builtins of a plugin, whose import statement finds ``salt`` and the files of its neighbours."""


class _PackageLoader:
    """Loads a module of a plugin package with the builtins of plugins."""

    def __init__(self, loader: Any, namespace: Mapping[str, Any]) -> None:
        self._loader = loader
        self._builtins = namespace

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module with its original loader."""
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Run the module with its original loader and the given builtins."""
        module.__dict__["__builtins__"] = self._builtins
        self._loader.exec_module(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _PackageFinder:
    """Finds the modules of installed plugin packages through the other finders, and gives them `_PackageLoader`."""

    def __init__(self) -> None:
        self.packages: dict[str, Mapping[str, Any]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        namespace = self._builtins_of(fullname)
        if namespace is None:
            return None
        for finder in sys.meta_path:
            if finder is not self:
                spec = finder.find_spec(fullname, path, target)
                if spec is not None:
                    if hasattr(spec.loader, "exec_module"):
                        spec.loader = _PackageLoader(spec.loader, namespace)  # type: ignore[assignment]  # it acts as one
                    return spec
        return None

    def _builtins_of(self, module: str) -> Mapping[str, Any] | None:
        for package, namespace in self.packages.items():
            if module == package or module.startswith(f"{package}."):
                return namespace
        return None


_finder = _PackageFinder()


def give_builtins(package: str, namespace: Mapping[str, Any]) -> None:
    """Use ``namespace`` as the builtins of all modules imported from an installed package from now on."""
    _finder.packages[package] = namespace
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
