"""The lazy loader: from ``module.function`` to a function, with as few imports as possible."""

from __future__ import annotations

import inspect
import os
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from asyncstate.dunders.context import current
from asyncstate.errors import FunctionNotFound, LoaderError, meant_for_program
from asyncstate.interfaces import functions_of, interface_of
from asyncstate.load.entry_points import entry_point_folders
from asyncstate.load.folders import PluginFile, PluginFolder, bundled_folder, scan
from asyncstate.load.imports import import_plugin, plugin_lock
from asyncstate.load.plugin import LoadedFunction, LoadedModule
from asyncstate.load.virtual import Verdict, claims_of, evaluate, exported_functions
from asyncstate.logs import get_logger
from asyncstate.nearest import near_miss, nearest

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import ModuleType

    from asyncstate.dunders import PluginKind
    from asyncstate.dunders.context import CallContext
    from asyncstate.interfaces import Interface
    from asyncstate.load.borrowed import BorrowedModules

log: logging.Logger = get_logger(__name__)

_ALIKE = 0.75
"""The least similarity of a suggested module name: ``mysql_user`` is not a misspelt ``postgres_user``."""

loading: ContextVar[bool] = ContextVar("asyncstate_loading", default=False)
"""True while ``__virtual__`` or ``__init__`` of a plugin runs: then a call returns its value, in any thread."""

_APPLIES_TREES = " The functions of 'state' apply or show trees: include the SLS files, or call asyncstate by itself."


class _Refusal:
    """A plugin that does not load here. ``names`` are the names under which callers would look for it.

    ``namespace`` is its imported module; None if the import failed. ``bundled``: it comes with this package.
    """

    __slots__ = ("bundled", "names", "namespace", "reason")

    def __init__(
        self, reason: str | None, *names: str, namespace: ModuleType | None = None, bundled: bool = False
    ) -> None:
        self.reason = reason
        self.names = frozenset(names)
        self.namespace = namespace
        self.bundled = bundled


class _Contents:
    """The loader's state since the last ``reset``. It is replaced as a whole, so that readers need no lock."""

    def __init__(self) -> None:
        self.files: dict[str, PluginFile] | None = None
        self.loaded: dict[str, tuple[LoadedModule, ...] | _Refusal] = {}
        self.found: dict[str, LoadedFunction] = {}
        self.missing: set[str] = set()
        self.chosen: dict[str, tuple[LoadedModule, ...] | _Refusal] = {}


class LazyLoader:
    """The plugins of one kind, for one runtime.

    ``folders`` come before entry points and bundled plugins; a file hides all files of the same name in later folders.
    A file is imported when a function of it, or of a name it may claim, is first looked up. ``context`` returns the
    context in which ``__virtual__`` and ``__init__`` run. ``disabled`` names files to ignore.

    Several files may have one virtual name. A file that follows an interface provides every function of the interface,
    with stubs for those it lacks; later files only add functions beyond it. If an earlier file without an interface has
    any of its functions, that file provides all of them: none is filled in from the other. Among files without an
    interface the first that has a function provides it, as in Salt. ``providers`` names, by virtual name, the only file
    that provides it; its ``__virtual__`` is not called. If that file follows no interface, it must provide the
    interface of the others. ``borrowed`` provides Salt's modules that no file provides.

    All methods may be called from any thread.
    """

    def __init__(
        self,
        kind: PluginKind,
        folders: Sequence[PluginFolder],
        context: Callable[[], CallContext],
        *,
        disabled: Iterable[str] = (),
        providers: Mapping[str, str] | None = None,
        installed: bool = True,
        borrowed: BorrowedModules | None = None,
    ) -> None:
        self.kind = kind
        self._folders = tuple(folders)
        self._places = tuple(os.path.join(folder.path, "") for folder in self._folders)
        self._context = context
        self._disabled = tuple(disabled)
        self._providers = dict(providers or {})
        self._installed = installed
        self.borrowed = borrowed
        self._registered: dict[str, LoadedFunction] = {}
        self._contents = _Contents()
        self._scan_lock = threading.Lock()

    def find(self, name: str, contents: _Contents | None = None) -> LoadedFunction | None:
        """Return the function called ``module.function``, or None."""
        contents = contents or self._contents
        function = contents.found.get(name) or self._registered.get(name)
        if function is None and name not in contents.missing:
            return self._search(contents, name)
        return function

    def get(self, name: str) -> LoadedFunction:
        """Return the function called ``module.function``.

        Raises FunctionNotFound with Salt's reason, and a suggestion where a similar name exists.
        """
        contents = self._contents  # a reset meanwhile would remove the reason
        function = self.find(name, contents)
        if function is None:
            raise FunctionNotFound(name, self.reason(name, contents), self._suggestion(contents, name))
        return function

    def has(self, name: object) -> bool:
        """Return whether ``module.function`` exists and is not hidden, as ``'m.f' in __salt__`` does."""
        function = self.find(name) if isinstance(name, str) else None
        return function is not None and not function.hidden

    def module(self, name: str, contents: _Contents | None = None) -> LoadedModule | None:
        """Return the plugin that the options choose for ``name``, else the first with that name, else None."""
        contents = contents or self._contents
        chosen = self._chosen(contents, name)
        if chosen is not None:
            return chosen
        for plugin in self._candidates(contents, name):
            for module in self._modules_of(contents, plugin):
                if module.name == name:
                    return module
        registered = next((f.module for f in self._registered.values() if f.module.name == name), None)
        return registered or self._borrow(contents, name)

    def reason(self, name: str, contents: _Contents | None = None) -> str:
        """Return Salt's message why there is no ``module.function``."""
        contents = contents or self._contents
        module_name = name.partition(".")[0]
        refusals = self._refusals_of(contents, module_name)
        if self.module(module_name, contents) is not None:
            return f"'{name}' is not available."
        if not refusals:
            refused = self.borrowed.refusal(module_name) if self.borrowed is not None else ""
            advice = _APPLIES_TREES if self.kind == "modules" and module_name == "state" else ""
            return refused or f"'{name}' is not available.{advice}"
        reasons = dict.fromkeys(refusal.reason for refusal in refusals if refusal.reason is not None)
        if not reasons:
            return f"'{module_name}' __virtual__ returned False"
        return f"'{module_name}' __virtual__ returned False: {'; '.join(reasons)}"

    def refused(self, module_name: str) -> LoadedModule | None:
        """Return the plugin with that name that does not load here at present; None if there is none.

        It has the functions that it would offer if it loaded; none if it could not be imported.
        """
        contents = self._contents
        refusals = self._refusals_of(contents, module_name) if self.module(module_name, contents) is None else []
        if not refusals:
            return None
        refusal = next((refusal for refusal in refusals if refusal.namespace is not None), refusals[0])
        namespace = refusal.namespace
        module = LoadedModule(
            module_name, getattr(namespace, "__file__", None) or "", namespace, bundled=refusal.bundled
        )
        aliases = getattr(namespace, "__func_alias__", {})
        for attribute, func in vars(namespace).items() if namespace is not None else ():
            if inspect.isfunction(func) and not attribute.startswith("_"):
                name = aliases.get(attribute, attribute)
                module.functions[name] = LoadedFunction(f"{module_name}.{name}", func, module)
        return module

    def names(self) -> list[str]:
        """Load every plugin and return the sorted names of all functions."""
        contents = self._contents
        names = set(self._registered)
        for plugin in self._files(contents).values():
            for module in self._modules_of(contents, plugin):
                names.update(function.name for function in module.functions.values() if not function.hidden)
        for module in filter(None, (self._chosen(contents, name) for name in self._providers)):
            names.update(function.name for function in module.functions.values() if not function.hidden)
        return sorted(name for name in names if self.has(name))

    def modules(self) -> list[LoadedModule]:
        """Load every plugin and return them all, in search order."""
        contents = self._contents
        return [m for plugin in self._files(contents).values() for m in self._modules_of(contents, plugin)]

    def refusals(self) -> dict[str, str]:
        """Return, by file, the reason why each plugin that was tried did not load; "" if unknown."""
        contents = self._contents
        files = self._files(contents)
        return {
            files[name].source: record.reason or ""
            for name, record in sorted(contents.loaded.items())
            if isinstance(record, _Refusal)
        }

    def has_place_for(self, path: str) -> bool:
        """Return whether a plugin at a path, or below it, would be loaded."""
        path = os.path.join(os.path.normpath(path), "")
        return path.startswith(self._places) or any(place.startswith(path) for place in self._places)

    def register(self, name: str, func: Callable[..., Any]) -> LoadedFunction:
        """Offer ``func`` of the application as ``module.function``; it hides a plugin's function of that name."""
        module_name, dot, function_name = name.partition(".")
        if not (module_name and dot and function_name):
            raise ValueError(f"{name!r} is not of the form 'module.function'")
        if not callable(func):
            raise TypeError(f"{name} must be a function, not {func!r}")
        module = next((f.module for f in self._registered.values() if f.module.name == module_name), None)
        if module is None:
            module = LoadedModule(module_name, "<host application>", None)
        function = LoadedFunction(name, func, module)
        module.functions[function_name] = function
        self._registered = {**self._registered, name: function}
        self._contents.found.pop(name, None)
        self._contents.missing.discard(name)
        return function

    def reset(self) -> None:
        """Forget all plugins found and refused: files are listed and loaded again, and changed ones are read again."""
        self._contents = _Contents()
        if self.borrowed is not None:
            self.borrowed.reset()

    def _search(self, contents: _Contents, name: str) -> LoadedFunction | None:
        module_name, _, function_name = name.partition(".")
        if not function_name:
            return None
        chosen = self._chosen(contents, module_name)
        if chosen is not None:
            return self._keep(contents, name, chosen.functions.get(function_name))
        complete = True
        answered: set[str] = set()
        for plugin in self._candidates(contents, module_name):
            for module in self._modules_of(contents, plugin):
                if module.name != module_name or (
                    module.adapted and not answered.isdisjoint(_interface_functions(module))
                ):
                    continue
                answered.update(module.functions)
                function = module.functions.get(function_name)
                if function is not None:
                    return self._keep(contents, name, function) if complete else function
            complete = complete and plugin.name in contents.loaded
        if not complete:
            return None
        borrowed = None if answered else self._borrow(contents, module_name)
        return self._keep(contents, name, borrowed.functions.get(function_name) if borrowed is not None else None)

    def _borrow(self, contents: _Contents, module_name: str) -> LoadedModule | None:
        """Return a module of Salt, unless a file here is meant to provide that name, whether it loads or not."""
        if self.borrowed is None:
            return None
        registered = any(function.module.name == module_name for function in self._registered.values())
        if registered or self._refusals_of(contents, module_name):
            return None
        return self.borrowed.module(module_name)

    def _keep(self, contents: _Contents, name: str, function: LoadedFunction | None) -> LoadedFunction | None:
        if function is None:
            contents.missing.add(name)
        else:
            contents.found[name] = function
        return function

    def _chosen(self, contents: _Contents, module_name: str) -> LoadedModule | None:
        """Return the module that the options choose for a virtual name. Raises LoaderError if it does not load."""
        file = self._providers.get(module_name)
        if file is None:
            return None
        plugin = self._files(contents).get(file)
        if plugin is None:
            raise LoaderError(f"providers: {{{module_name}: {file}}}: there is no execution module file {file!r}")
        with plugin_lock(plugin.source) as mine:
            if not mine:
                return None
            record = contents.chosen.get(module_name)
            if record is None:
                record = contents.chosen[module_name] = self._load(plugin, as_name=module_name)
        if isinstance(record, _Refusal):
            raise LoaderError(f"providers: {{{module_name}: {file}}}: {record.reason}")
        return record[0]

    def _candidates(self, contents: _Contents, module_name: str) -> Iterator[PluginFile]:
        """Yield the files that may provide ``module_name``, likeliest first.

        A user's file with that name comes first, then the user's files that follow the interface of that name.
        Then the order is Salt's: the file with that name, file names that contain it, the rest. Files whose text rules
        the name out are skipped.
        """
        files = self._files(contents)
        exact = files.get(module_name)
        candidates = sorted(files.values(), key=lambda plugin: (plugin is not exact, module_name not in plugin.name))
        own = [plugin for plugin in candidates if not plugin.folder.bundled and claims_of(plugin).opaque]
        passed: list[PluginFile] = []
        if exact is not None and not exact.folder.bundled:
            passed.append(exact)
            yield exact
        for plugin in own:
            if plugin not in passed and self._may_follow_interface(contents, plugin, module_name):
                passed.append(plugin)
                yield plugin
        for plugin in candidates:
            if plugin not in passed and (plugin is exact or claims_of(plugin).may_claim(module_name)):
                yield plugin
        yield from (plugin for plugin in own if plugin not in passed and not claims_of(plugin).may_claim(module_name))

    def _may_follow_interface(self, contents: _Contents, plugin: PluginFile, module_name: str) -> bool:
        """Return whether a file follows the interface of a virtual name, or is being loaded and may turn out to."""
        modules = self._modules_of(contents, plugin)
        if plugin.name not in contents.loaded:
            return True
        return any(module.adapted and module.name == module_name for module in modules)

    def _files(self, contents: _Contents) -> dict[str, PluginFile]:
        if contents.files is None:
            with self._scan_lock:
                if contents.files is None:
                    folders = [*self._folders]
                    if self._installed:
                        folders += [*entry_point_folders(self.kind), *bundled_folder(self.kind)]
                    contents.files = scan(folders, self._disabled)
        return contents.files

    def _modules_of(self, contents: _Contents, plugin: PluginFile) -> tuple[LoadedModule, ...]:
        """Return ``plugin`` as one module per name; nothing if it does not load or is being loaded at present."""
        record = contents.loaded.get(plugin.name)
        if record is None:
            with plugin_lock(plugin.source) as mine:
                if not mine:
                    return ()
                record = contents.loaded.get(plugin.name)
                if record is None:
                    record = contents.loaded[plugin.name] = self._load(plugin)
        return () if isinstance(record, _Refusal) else record

    def _load(self, plugin: PluginFile, *, as_name: str = "") -> tuple[LoadedModule, ...] | _Refusal:
        """Import ``plugin`` if necessary, and call its ``__virtual__`` to decide whether and under which name it loads.

        With ``as_name``, the options chose it for that name: ``__virtual__`` is not called.
        """
        context_token = current.set(self._context())
        loading_token = loading.set(True)
        names = [plugin.name]
        try:
            namespace = import_plugin(plugin, self.kind)
            if not self._initialised(namespace, plugin):
                return _Refusal("__init__ failed", plugin.name)
            verdict = Verdict(accepted=True, name=as_name) if as_name else evaluate(namespace, plugin, self.kind)
            names.append(verdict.name)
            if not verdict.accepted:
                return _Refusal(verdict.reason, *names, namespace=namespace, bundled=plugin.folder.bundled)
            exports = exported_functions(namespace, imported_too=self.kind == "utils")
            interface = interface_of(namespace) or (self._interface_of_others(as_name, plugin) if as_name else None)
            if interface is not None:
                from asyncstate.interfaces.adapt import adapt  # noqa: PLC0415 - modules with an interface

                exports = adapt(interface, namespace, exports)
            elif self.kind == "modules" and verdict.name in (current.get().base_opts.get("smi_require") or ()):
                return _Refusal(f"{verdict.name!r} must follow an interface (smi_require)", *names)
        except LoaderError as refused:
            if self._stands_in_for(plugin):
                log.warning("%s does not load, so a bundled module answers in its place: %s", plugin.source, refused)
            log.debug("%s does not load: %s", plugin.source, refused, exc_info=True)
            return _Refusal(str(refused), *names, bundled=plugin.folder.bundled)
        finally:
            loading.reset(loading_token)
            current.reset(context_token)
        adapted = interface is not None
        return tuple(
            _module(name, plugin, namespace, exports, adapted=adapted) for name in (verdict.name, *verdict.aliases)
        )

    def _stands_in_for(self, plugin: PluginFile) -> bool:
        """Return whether a file that is not bundled is meant to provide a virtual name of bundled files."""
        if plugin.folder.bundled:
            return False
        claims = claims_of(plugin)
        if claims.opaque:
            return True
        bundled = [claims_of(other) for other in self._files(self._contents).values() if other.folder.bundled]
        return any(other.may_claim(name) for name in claims.literals for other in bundled)

    def _interface_of_others(self, name: str, chosen: PluginFile) -> Interface | None:
        """Return the interface that other files of a virtual name follow."""
        for plugin in self._candidates(self._contents, name):
            if plugin.name == chosen.name:
                continue
            with plugin_lock(plugin.source):
                try:
                    namespace = import_plugin(plugin, self.kind)
                except LoaderError:
                    continue
            interface = interface_of(namespace)
            if interface is not None and str(interface) == name:
                return interface
        return None

    def _initialised(self, namespace: ModuleType, plugin: PluginFile) -> bool:
        """Call the plugin's ``__init__(opts)``, if any. As in Salt, one with other parameters is skipped."""
        init = namespace.__dict__.get("__init__")
        if not inspect.isfunction(init):
            return True
        try:
            init(current.get().opts)
        except TypeError:
            log.warning("%s: __init__ cannot be called with the options", plugin.source, exc_info=True)
        except BaseException as error:
            if meant_for_program(error):
                raise
            log.warning("%s: __init__ failed", plugin.source, exc_info=True)
            return False
        return True

    def _refusals_of(self, contents: _Contents, module_name: str) -> list[_Refusal]:
        records = [contents.loaded.get(plugin.name) for plugin in self._candidates(contents, module_name)]
        return [record for record in records if isinstance(record, _Refusal) and module_name in record.names]

    def _suggestion(self, contents: _Contents, name: str) -> str:
        """Return the nearest function name; imports only modules with similar names."""
        from difflib import get_close_matches  # noqa: PLC0415 - only a mistake needs it

        module_name, _, function_name = name.partition(".")
        module = self.module(module_name, contents)
        if not function_name and module is None:
            return self._function_named(module_name)
        if module is not None:
            return _nearest_function(module, function_name)
        if self._refusals_of(contents, module_name) or (
            self.borrowed is not None and self.borrowed.refusal(module_name)
        ):
            return ""  # the name is right, and the reason names the missing part
        likely = self._likely_modules()
        alike = get_close_matches(module_name, likely, n=3, cutoff=_ALIKE)
        near = dict.fromkeys([near_miss(module_name, likely), *alike])
        for other in filter(None, near):
            if self.has(f"{other}.{function_name}"):
                return f"{other}.{function_name}"
        modules = (self.module(other) for other in near if other)
        return next(filter(None, (_nearest_function(found, function_name) for found in modules if found)), "")

    def _function_named(self, function_name: str) -> str:
        """Return a function of any module with this name, or else with the nearest one; of several the shortest."""
        found: dict[str, str] = {}
        for name in sorted(self.names(), key=lambda name: (len(name), name)):
            found.setdefault(name.partition(".")[2], name)
        return found.get(function_name) or found.get(nearest(function_name, found), "")

    def _likely_modules(self) -> list[str]:
        borrowed = self.borrowed.names() if self.borrowed is not None else ()
        own = (name.partition(".")[0] for name in self._registered)
        return sorted({*self._files(self._contents), *own, *borrowed})


def _interface_functions(module: LoadedModule) -> Iterable[str]:
    interface = interface_of(module.namespace)
    return () if interface is None else functions_of(interface)


def _nearest_function(module: LoadedModule, name: str) -> str:
    known = [other for other, f in module.functions.items() if not f.hidden and not other.startswith("mod_")]
    near = nearest(name, known)
    return f"{module.name}.{near}" if near else ""


def _module(
    name: str,
    plugin: PluginFile,
    namespace: ModuleType,
    exports: Mapping[str, Callable[..., Any]],
    *,
    adapted: bool = False,
) -> LoadedModule:
    module = LoadedModule(name, plugin.source, namespace, bundled=plugin.folder.bundled, adapted=adapted)
    for function_name, func in exports.items():
        module.functions[function_name] = LoadedFunction(f"{name}.{function_name}", func, module)
    return module
