"""The plugins of one runtime: its loaders, its function maps, and the context its calls see."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from asyncstate.borrow.interpreter import AUTO
from asyncstate.dunders import runtime_services
from asyncstate.dunders.context import CallContext, LoadingContext, SharedContext, current, thread_token
from asyncstate.dunders.proxies import resolved
from asyncstate.load.borrowed import BorrowedModules
from asyncstate.load.bridge import Bridge, call_and_await, wrap
from asyncstate.load.folders import FOLDER_OPTIONS, bundled_folder, plugin_folders
from asyncstate.load.functions import FunctionMap, SuffixMap
from asyncstate.load.loader import LazyLoader
from asyncstate.load.threads import WorkerThreads
from asyncstate.salt_compat.importing import Serializers

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator, Mapping

    from asyncstate.borrow.workers import SaltWorkers
    from asyncstate.dunders import Services, TreeFiles
    from asyncstate.load.plugin import LoadedFunction
    from asyncstate.redact.redactor import Secrets
    from asyncstate.sources.held import HeldFiles


_BORROWED = ("states", "modules")
"""The kinds of Salt's modules that are borrowed."""


class PluginHost:
    """Loads and calls plugins for one runtime.

    ``opts`` are the options as plugins see them; the host keeps ``opts["grains"]`` and ``opts["pillar"]`` up to date.
    ``file_client`` gives the file roots, whose ``_states``, ``_modules``, ``_utils``, ``_grains`` and ``_renderers``
    directories come first. ``extra_states`` are state functions of the host application by ``module.function``.
    ``services`` are the runtime's services for plugins; without them a plugin that uses one gets LoaderError.
    ``secrets`` are the values that plugins declare secret.
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
        self._salt_workers: SaltWorkers | None = None
        self._salt_workers_lock = threading.Lock()
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
                borrowed=self._borrowed(kind) if kind in _BORROWED else None,
            )
            for kind in FOLDER_OPTIONS
        }
        self.salt: FunctionMap = FunctionMap(self.loaders["modules"], self._bridge, label="__salt__")
        self.states: FunctionMap = FunctionMap(self.loaders["states"], self._bridge, label="__states__")
        self.utils: FunctionMap = FunctionMap(self.loaders["utils"], self._bridge, label="__utils__")
        self.grains_functions: FunctionMap = FunctionMap(self.loaders["grains"], self._bridge, label="grains")
        self._render_functions = FunctionMap(self.loaders["renderers"], self._bridge, label="renderers")
        self.renderers: SuffixMap = SuffixMap(self._render_functions, "render")
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

    def _borrowed(self, kind: str) -> BorrowedModules:
        setting = self.opts.get("salt_python") or AUTO
        return BorrowedModules(kind, setting, self._workers_of_salt, self.opts.get(f"disable_{kind}") or ())

    def _workers_of_salt(self) -> SaltWorkers:
        from asyncstate.borrow.workers import SaltWorkers  # noqa: PLC0415 - most trees need nothing of Salt's

        with self._salt_workers_lock:
            if self._salt_workers is None:
                self._salt_workers = SaltWorkers(
                    self.opts.get("salt_python") or AUTO,
                    self._options_for_salt,
                    self._folders_for_salt,
                    trust=self.opts.get("trust_writable") is True,
                )
            return self._salt_workers

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
        if self._salt_workers is not None:
            self._salt_workers.renew()

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
            for folder in (
                *plugin_folders(kind, self.opts, self.file_client),
                *(bundled_folder(kind) if bundled else ()),
            )
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
        if self._salt_workers is not None:
            self._salt_workers.close()

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
        if self._salt_workers is not None:
            self._salt_workers.renew()
        for loader in self.loaders.values():
            loader.reset()
        for functions in (self.salt, self.states, self.utils, self.grains_functions, self._render_functions):
            functions.reset()
