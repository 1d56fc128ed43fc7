"""The plugins of one runtime: its loaders, its function maps (``__salt__``, ``__states__``), and what its calls see."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from asyncstate.dunders import runtime_services
from asyncstate.dunders.context import CallContext, LoadingContext, SharedContext, current, thread_token
from asyncstate.dunders.proxies import resolved
from asyncstate.errors import FunctionNotFound
from asyncstate.load.borrowed import BorrowedModules
from asyncstate.load.bridge import Bridge, call_and_await, wrap
from asyncstate.load.folders import FOLDER_OPTIONS, plugin_folders
from asyncstate.load.loader import LazyLoader
from asyncstate.load.threads import WorkerThreads
from asyncstate.salt_compat import Serializers

if TYPE_CHECKING:
    import asyncio

    from asyncstate.dunders import Services, TreeFiles
    from asyncstate.load.borrowed import Lender
    from asyncstate.load.plugin import LoadedFunction
    from asyncstate.redact import Secrets
    from asyncstate.sources.held import HeldFiles


class FunctionMap(Mapping[str, Callable[..., Any]]):
    """Functions by ``module.function``; modules also as attributes (``salt.cmd.run``).

    A lookup imports only the plugins it needs. Iteration and ``len`` load every plugin.
    """

    def __init__(self, loader: LazyLoader, bridge: Bridge, *, label: str = "__salt__") -> None:
        self._loader = loader
        self._bridge = bridge
        self._label = label
        self._calls: dict[str, Callable[..., Any]] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        calls = self._calls
        call = calls.get(name)
        if call is None:
            try:
                function = self._loader.get(name)
            except FunctionNotFound as missing:
                raise KeyError(name) from missing
            call = calls[name] = wrap(function.func, self._bridge, f"{self._label}[{name!r}]")
        return call

    def __contains__(self, name: object) -> bool:
        return self._loader.has(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._loader.names())

    def __len__(self) -> int:
        return len(self._loader.names())

    def __bool__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> ModuleView:
        if name.startswith("__") or self._loader.module(name) is None:
            raise AttributeError(name)
        return ModuleView(self, name)

    def is_bundled(self, name: str) -> bool:
        """Return whether the function is bundled, not of the tree, a package or Salt. Raises FunctionNotFound."""
        return self._loader.get(name).module.bundled

    def is_of_tree(self, name: str) -> bool:
        """Return whether the function exists and comes from the tree, a folder of plugins or a package."""
        if not self._loader.has(name):
            return False
        module = self._loader.get(name).module
        return not module.bundled and not module.borrowed

    def __missing_reason__(self, name: str) -> str:
        """Return why there is no such function or module, for the error of a template that uses the name."""
        try:
            self._loader.get(name)
        except FunctionNotFound as missing:
            hint = f"; did you mean {missing.suggestion!r}?" if missing.suggestion else ""
            return f"{self._label.strip('_')} has no {name!r}: {missing.reason.rstrip('.')}{hint}"
        return ""

    def __deepcopy__(self, memo: dict[int, Any]) -> FunctionMap:
        return self

    def __repr__(self) -> str:
        return f"<functions of {self._label}>"

    def reset(self) -> None:
        """Forget the wrapped functions, after the loader was reset."""
        self._calls = {}


class ExplainedFunctions(Protocol):
    """Functions by ``module.function``, with the reason why one is missing."""

    def __getitem__(self, name: str, /) -> Callable[..., Any]: ...

    def __missing_reason__(self, name: str, /) -> str: ...


class ModuleView:
    """One module of a function map, for attribute access."""

    __slots__ = ("_functions", "_module")

    def __init__(self, functions: ExplainedFunctions, module: str) -> None:
        self._functions = functions
        self._module = module

    def __getattr__(self, name: str) -> Callable[..., Any]:
        try:
            return self._functions[f"{self._module}.{name}"]
        except KeyError:
            raise AttributeError(f"{self._module} has no function {name!r}") from None

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._functions[f"{self._module}.{name}"]

    def __missing_reason__(self, name: str) -> str:
        """Return why there is no such function."""
        return self._functions.__missing_reason__(f"{self._module}.{name}")

    def __repr__(self) -> str:
        return f"<module {self._module}>"


class Renderers(Mapping[str, Callable[..., Any]]):
    """The functions ``render`` of modules, under their names: ``renderers["py"]`` is ``py.render``."""

    def __init__(self, functions: FunctionMap) -> None:
        self._functions = functions

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._functions[f"{name}.render"]

    def __contains__(self, name: object) -> bool:
        return f"{name}.render" in self._functions

    def __iter__(self) -> Iterator[str]:
        return (name.removesuffix(".render") for name in self._functions if name.endswith(".render"))

    def __len__(self) -> int:
        return sum(1 for _ in self)


_BORROWED = ("states", "modules")
"""The kinds of Salt's modules that are borrowed."""


class PluginHost:
    """Loads and calls plugins for one runtime.

    ``opts`` are the options as plugins see them; the host keeps ``opts["grains"]`` and ``opts["pillar"]`` up to date.
    ``file_client`` gives the file roots, whose ``_states``, ``_modules``, ``_utils``, ``_grains`` and ``_renderers``
    directories come first. ``extra_states`` are state functions of the host application by ``module.function``.
    ``services`` are the runtime's services for plugins; without them a plugin that uses one gets LoaderError.
    ``secrets`` are the values that plugins declare secret. Raises ConfigError if ``opts`` need an extra that is not
    installed.
    """

    def __init__(
        self,
        opts: dict[str, Any],
        *,
        file_client: TreeFiles,
        extra_states: Mapping[str, Callable[..., Any]] | None = None,
        workers: WorkerThreads | None = None,
        services: Services | None = None,
        secrets: Secrets | None = None,
    ) -> None:
        self.opts = opts
        self.file_client: TreeFiles = file_client
        self.workers: WorkerThreads = workers or WorkerThreads()
        self._bridge = Bridge(self.workers, self.context)
        self._lender: Lender | None = None
        self._lender_lock = threading.Lock()
        self._lender_type: Any = self._required_lender()
        self.shared: SharedContext = SharedContext(threading.RLock())
        """``__context__`` of this runtime."""
        self._loaded = LoadingContext(self.shared)
        self.loaders: dict[str, LazyLoader] = {
            kind: LazyLoader(
                kind,
                plugin_folders(kind, opts, file_client),
                partial(self.context, context=self._loaded),
                disabled=opts.get(f"disable_{kind}") or (),
                providers=opts.get("providers") if kind == "modules" else None,
                borrowed=BorrowedModules(kind, self._lend, opts.get(f"disable_{kind}") or ())
                if kind in _BORROWED
                else None,
            )
            for kind in FOLDER_OPTIONS
        }
        self.salt: FunctionMap = FunctionMap(self.loaders["modules"], self._bridge, label="__salt__")
        self.states: FunctionMap = FunctionMap(self.loaders["states"], self._bridge, label="__states__")
        self.utils: FunctionMap = FunctionMap(self.loaders["utils"], self._bridge, label="__utils__")
        self.grains_functions: FunctionMap = FunctionMap(self.loaders["grains"], self._bridge, label="grains")
        self._render_functions = FunctionMap(self.loaders["renderers"], self._bridge, label="renderers")
        self.renderers: Renderers = Renderers(self._render_functions)
        self._for_salt: HeldFiles | None = None
        self._base_lock = threading.Lock()
        self._base = CallContext(
            opts=opts,
            grains=opts.setdefault("grains", {}),
            pillar=opts.setdefault("pillar", {}),
            context=self.shared,
            salt=self.salt,
            states=self.states,
            utils=self.utils,
            services=services,
            file_client=file_client,
            serializers=Serializers(),
            env=opts.get("saltenv") or "base",
            instance_id=f"{id(self):x}",
            user=opts.get("user") or "root",
            secrets=secrets,
        )
        for name, func in (extra_states or {}).items():
            self.register_state(name, func)

    def _required_lender(self) -> Any:
        """Return what makes the lender of a named interpreter of Salt; None if none is named. Raises ConfigError."""
        if (self.opts.get("salt_python") or "auto") in ("auto", "off"):
            return None
        from asyncstate import extend  # noqa: PLC0415 - few settings name one

        return extend.provided("lender", "salt_python")

    def _lend(self) -> Lender | None:
        from asyncstate import extend  # noqa: PLC0415 - most trees need nothing of Salt's

        with self._lender_lock:
            lender = self._lender_type or extend.offered("lender")
            if self._lender is None and lender is not None:
                setting = self.opts.get("salt_python") or "auto"
                trust = self.opts.get("trust_writable") is True
                self._lender = lender(setting, self._options_for_salt, self._folders_for_salt, trust=trust)
            return self._lender

    def _options_for_salt(self) -> dict[str, Any]:
        return self.opts if self._for_salt is None else {**self.opts, "file_roots": self._for_salt.roots_of_copies()}

    def _folders_for_salt(self) -> dict[str, list[str]]:
        """Return the folders of the tree's plugins, by Salt's option for each kind."""
        place = str if self._for_salt is None else self._for_salt.folder_of_copies
        return {
            option: [place(folder.path) for folder in plugin_folders(kind, self.opts, self.file_client)]
            for kind, option in FOLDER_OPTIONS.items()
        }

    @property
    def services(self) -> Services:
        """The services of the runtime for plugins. Raises LoaderError if there is no runtime."""
        return runtime_services(self._base)

    @property
    def grains(self) -> dict[str, Any]:
        """The grains of this runtime."""
        return self._base.grains

    @property
    def pillar(self) -> dict[str, Any]:
        """The pillar of this runtime."""
        return self._base.pillar

    def context(self, **overrides: Any) -> CallContext:
        """Return a new call context of this runtime: the base, with ``overrides`` of its attributes."""
        return self._base.derive(**overrides)

    def run_ended(self) -> None:
        """Clear the values that plugins keep in ``__context__`` for a run."""
        self._loaded.leave_only_this()

    def set_grains(self, grains: dict[str, Any]) -> None:
        """Use ``grains`` from now on. If they changed, ``__virtual__`` of every plugin runs again on the next use."""
        with self._base_lock:
            changed = grains != self._base.grains
            self.opts["grains"] = grains
            self._base = self._base.derive(grains=grains)
        if changed:
            self.reload()

    def set_pillar(self, pillar: dict[str, Any]) -> None:
        """Use ``pillar`` from now on. If it changed, ``__virtual__`` of every plugin runs again on the next use."""
        with self._base_lock:
            changed = pillar != self._base.pillar
            self.opts["pillar"] = pillar
            self._base = self._base.derive(pillar=pillar)
        if changed:
            self.reload()

    def set_file_client(self, client: TreeFiles, for_salt: HeldFiles) -> None:
        """Give plugins another client of the file roots from now on; Salt's modules get the copies in ``for_salt``."""
        with self._base_lock:
            self.file_client = client
            self._for_salt = for_salt
            self._base = self._base.derive(file_client=client)
        if self._lender is not None:
            self._lender.renew()

    def register_state(self, name: str, func: Callable[..., Any]) -> LoadedFunction:
        """Offer ``func``, plain or async, as the state function ``module.function``."""
        function = self.loaders["states"].register(name, func)
        self.states.reset()
        return function

    def bridged(self, func: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a function that is no plugin's, callable by the rules of ``__salt__``; `Services.bridged`."""
        return wrap(func, self._bridge, name)

    def plugin_paths(self, *, bundled: bool = True) -> list[str]:
        """Return the folders that may hold plugins, and interfaces of the tree."""
        folders = [
            folder
            for kind in (*FOLDER_OPTIONS, "interfaces")
            for folder in plugin_folders(kind, self.opts, self.file_client, bundled=bundled)
        ]
        return list(dict.fromkeys(folder.path for folder in folders))

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Use ``loop`` to run the async functions that plain functions call from their threads."""
        self._bridge.loop = loop
        self.workers.open()

    def detach(self) -> None:
        """Forget the loop: an async function called from a thread then runs on its own loop.

        Idle threads and workers of Salt end.
        """
        self._bridge.loop = None
        self.workers.close()
        if self._lender is not None:
            self._lender.close()

    @contextmanager
    def enter(self, **overrides: Any) -> Iterator[CallContext]:
        """Make ``context(**overrides)`` the current one, for synchronous work such as compiling."""
        context = self.context(**{"cancel": thread_token.get(), **overrides})
        token = current.set(context)
        try:
            yield context
        finally:
            current.reset(token)

    async def call(
        self,
        function: LoadedFunction,
        args: list[Any] | tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
        context: CallContext | None = None,
    ) -> Any:
        """Call ``function`` in ``context`` and return its value.

        An async function is awaited in place, without a task or a thread; a plain one runs in a worker thread. Raises
        the exceptions of the function, but LoaderError for sys.exit.
        """
        context = context or self.context()
        kwargs = kwargs or {}
        if function.is_async:
            pending = call_and_await(function.func, *args, **kwargs)
        else:
            result = await self.workers.run_in(context, function.func, *args, **kwargs)
            pending = call_and_await(lambda: result)
        token = current.set(context)
        try:
            return resolved(await pending)
        finally:
            current.reset(token)

    def reload(self) -> None:
        """Forget all loaded plugins: each is loaded again on the next use, and read again if its file changed."""
        if self._lender is not None:
            self._lender.renew()
        for loader in self.loaders.values():
            loader.reset()
        for functions in (self.salt, self.states, self.utils, self.grains_functions, self._render_functions):
            functions.reset()
