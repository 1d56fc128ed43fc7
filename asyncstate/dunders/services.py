"""The services of the runtime for plugins, beyond calling functions: templates, targets, reloading plugins and data.

A plugin gets them from `asyncstate.dunders.runtime_services`. It calls functions of other plugins through ``__salt__``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

PluginKind = Literal["states", "modules", "grains", "utils", "renderers"]


class FileRoots(Protocol):
    """The environments of a tree, and the folders of each."""

    def envs(self) -> list[str]:
        """Return the environments, in the order they were configured."""

    def roots(self, saltenv: str) -> list[str]:
        """Return the directories of an environment, strongest first; [] for an unknown one."""


class TreeFiles(FileRoots, Protocol):
    """The files of a tree, which ``salt://`` URLs name. Paths are relative to the roots."""

    def find(self, path: str, saltenv: str) -> str | None:
        """Return the real file of a path, or None. Never a file outside the roots."""

    def read(self, path: str) -> bytes:
        """Return the content of a file that `find` named. Raises RenderError with the path and the reason."""

    def list_files(self, saltenv: str) -> list[str]:
        """Return every file of an environment."""

    def list_dirs(self, saltenv: str) -> list[str]:
        """Return every directory of an environment."""

    def list_empty_dirs(self, saltenv: str) -> list[str]:
        """Return every empty directory of an environment."""

    def list_symlinks(self, saltenv: str) -> dict[str, str]:
        """Return every symlink of an environment and its target."""

    def list_states(self, saltenv: str) -> list[str]:
        """Return the dotted names of every SLS of an environment, sorted."""


class Services(Protocol):
    """The services of one runtime. All may be called from any thread; none returns an awaitable."""

    def render_template(self, source: str | Path, renderer: str, context: Mapping[str, Any], saltenv: str) -> str:
        """Return ``source`` rendered: a text, or the UTF-8 file at a path.

        ``renderer`` is a pipe of renderers, such as ``jinja``; ``context`` has variables for the template, which
        override those that every template has. Imports in the template are looked up in the environment ``saltenv``.
        Raises RenderError; OSError if the file cannot be read.
        """

    def render_data(
        self,
        text: str,
        *,
        default_renderer: str = "jinja|yaml",
        context: Mapping[str, Any],
        saltenv: str,
        path: str = "",
    ) -> Any:
        """Return the data that a text renders to: the return of the last renderer of its pipe.

        The first line ``#!renderer|…`` names the pipe; without it, ``default_renderer`` is used. ``path`` is the file
        that the text was read from, if any; ``context`` and ``saltenv`` are as in `render_template`. Raises
        RenderError.
        """

    def match(self, kind: str, target: object, *, minion_id: str | None = None, delimiter: str | None = None) -> bool:
        """Return whether a target matches this machine, or would if its ID were ``minion_id``.

        ``kind`` is Salt's name of a kind of target: ``compound``, ``glob``, ``grain`` … Kinds that look into grains or
        pillar accept a ``delimiter`` other than the colon. An invalid target matches nothing, and is logged. Raises
        LoaderError for a kind that does not exist.
        """

    def reload(self) -> None:
        """Search for plugins again before the next use, and read changed files again."""

    def refresh(self, *, grains: bool, pillar: bool) -> None:
        """Gather the grains, or render the pillar, again. Raises PillarError."""

    def renderer_docs(self) -> dict[str, str]:
        """Return a description of each renderer by name, of this runtime and of the tree."""

    def plugins(self, kind: PluginKind) -> Plugins:
        """Return the plugins of one kind, for inspection; `reload` brings them up to date."""

    def bridged(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a function, plain or async, as ``__salt__`` would return it; ``name`` is for its error messages.

        It blocks if it is called in a thread, and returns an awaitable if it is called on the event loop.
        """

    def fire(self, tag: str, data: Mapping[str, Any]) -> bool:
        """Send an event to the operators of the fleet; False if this run is not part of one. For threads only.

        Secrets in it are hidden. Returns once the event is stored. Raises FleetError.
        """

    def orchestra(self) -> Orchestra:
        """Return the access to the hosts of a fleet. Raises CommandExecutionError outside `fleet orchestrate`."""


class Orchestra(Protocol):
    """The hosts of a fleet, for the states of an orchestration. Call its functions on the event loop."""

    async def command(
        self,
        target: object,
        function: str,
        arg: Sequence[Any] = (),
        kwarg: Mapping[str, Any] | None = None,
        *,
        kind: str = "glob",
        expect_minions: bool = False,
        deadline: float | None = None,
        batch: str | None = None,
        subset: int | None = None,
        failhard: bool = False,
    ) -> dict[str, dict[str, Any]]:
        """Call a function on the hosts that match; return each answer, in the shape of Salt's local client.

        ``state.apply``, ``state.sls``, ``state.highstate`` and ``state.top`` are one run across these hosts. ``kind``
        is Salt's name of a kind of target, ``deadline`` the seconds that a host has to answer. Silent hosts are left
        out unless ``expect_minions``. Raises CommandExecutionError for a request that is not possible, FleetError.
        """

    async def runner(self, function: str, arg: Sequence[Any] = (), kwarg: Mapping[str, Any] | None = None) -> Any:
        """Call a runner; return its result. Raises CommandExecutionError for a runner that does not exist."""

    def events(self) -> AbstractAsyncContextManager[AsyncIterator[Mapping[str, Any]]]:
        """Return the events that hosts fire from now on, in the shape of Salt's events: ``tag`` and ``data``."""


class Plugins(Protocol):
    """The plugins of one kind."""

    def names(self) -> list[str]:
        """Load every plugin and return the sorted names of all functions, each ``module.function``."""

    def get(self, name: str, /) -> PluginFunction:
        """Return the function called ``module.function``. Raises FunctionNotFound."""

    def module(self, name: str, /) -> PluginModule | None:
        """Return the plugin that provides a module name; None if there is none."""


class PluginFunction(Protocol):
    """A function of a plugin, for inspection. To call it, use ``__salt__`` or ``__states__``."""

    @property
    def name(self) -> str:
        """Its full name, ``module.function``."""

    @property
    def doc(self) -> str:
        """Its docstring without indentation; "" if it has none."""

    @property
    def func(self) -> Callable[..., Any]:
        """The function itself, for `inspect.signature`."""


class PluginModule(Protocol):
    """One plugin under one of its names."""

    @property
    def name(self) -> str:
        """The name under which its functions are called."""

    @property
    def file(self) -> str:
        """The path of its source file; for a package, its ``__init__.py``."""
