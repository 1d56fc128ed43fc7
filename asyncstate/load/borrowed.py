"""The modules of Salt that a loader borrows: those that no plugin file here provides."""

from __future__ import annotations

import inspect
import threading
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Protocol

from asyncstate.errors import RaisedElsewhere
from asyncstate.load.folders import PluginFile, PluginFolder, scan
from asyncstate.load.plugin import LoadedFunction, LoadedModule
from asyncstate.load.virtual import claims_of
from asyncstate.model.chunk import LANE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LANES: Final = "salt."
"""The prefix of the lanes of borrowed modules."""


class Lender(Protocol):
    """Calls functions of Salt's modules, which run elsewhere. All methods block, and may be called from any thread."""

    def folders(self, kind: str) -> list[str]:
        """Return the folders of Salt's modules of a kind; none if there is no usable Salt."""

    def describe(self, kind: str, module: str, files: list[str]) -> dict[str, Any]:
        """Return what a module is that one of the files may provide: ``refused``, or ``file`` and ``functions``.

        A function is ``{"parameters": [(name, kind, has default, default)], "doc": text}``. Raises RaisedElsewhere.
        """

    def call(self, kind: str, name: str, files: list[str], args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a function in the context of the call under way. Raises what it raises, and RunCancelled."""

    def renew(self) -> None:
        """Note that options, grains, pillar or folders have changed."""

    def close(self) -> None:
        """End what waits for calls."""


class BorrowedModules:
    """Salt's modules of one kind, as the loader's own. ``disabled`` names files to ignore.

    ``lender`` is called when a module of Salt is needed.

    A name that no file of Salt claims is not asked for. A module that a file may provide is described once after each
    `reset`. All methods may be called from any thread.
    """

    def __init__(self, kind: str, lender: Callable[[], Lender | None], disabled: Iterable[str] = ()) -> None:
        self.kind = kind
        self._find_lender = lender
        self._lender: Lender | None = None
        self._disabled = tuple(disabled)
        self._lock = threading.RLock()
        self._files: dict[str, PluginFile] | None = None
        self._known: dict[str, LoadedModule | str] = {}

    def module(self, name: str) -> LoadedModule | None:
        """Return a module of Salt; None if Salt has no such module, or it does not load here."""
        found = self._look_up(name)
        return found if isinstance(found, LoadedModule) else None

    def refusal(self, name: str) -> str:
        """Return Salt's reason why one of its modules does not load here; "" if it loads or does not exist."""
        found = self._look_up(name)
        return found if isinstance(found, str) else ""

    def names(self) -> list[str]:
        """Return the names of the modules that Salt's files provide if they load, without loading any."""
        names = {claims_of(plugin).name or plugin.name for plugin in self._all_files().values()}
        return sorted(names)

    def reset(self) -> None:
        """Forget all descriptions, as later loads may differ."""
        with self._lock:
            self._known = {}

    def _look_up(self, name: str) -> LoadedModule | str | None:
        found = self._known.get(name)
        if found is not None:
            return found
        files = self._claiming(name)
        if not files or self._lender is None:
            return None
        with self._lock:
            if name not in self._known:
                self._known[name] = self._described(self._lender, name, files)
            return self._known[name]

    def _described(self, lender: Lender, name: str, files: list[str]) -> LoadedModule | str:
        try:
            facts = lender.describe(self.kind, name, files)
        except RaisedElsewhere as failed:
            return failed.shown
        if "refused" in facts:
            return str(facts["refused"])
        namespace = ModuleType(name)
        setattr(namespace, LANE, f"{LANES}{name}")
        module = LoadedModule(name, facts.get("file", ""), namespace, borrowed=True)
        for function, told in facts.get("functions", {}).items():
            try:
                func = _function(lender, self.kind, f"{name}.{function}", files, told)
            except ValueError as error:
                return f"the signature of {name}.{function} that a worker describes is none: {error}"
            module.functions[function] = LoadedFunction(f"{name}.{function}", func, module)
        return module

    def _claiming(self, name: str) -> list[str]:
        """Return the files of Salt that may provide a module, likeliest first."""
        files = self._all_files()
        exact = [name] if name in files else []
        return exact + [each for each, plugin in files.items() if each != name and claims_of(plugin).may_claim(name)]

    def _all_files(self) -> dict[str, PluginFile]:
        with self._lock:
            if self._files is None:
                self._files = self._scanned()
            return self._files

    def _scanned(self) -> dict[str, PluginFile]:
        self._lender = self._find_lender()
        folders = [] if self._lender is None else self._lender.folders(self.kind)
        return scan(map(PluginFolder, folders), self._disabled)


def _function(lender: Lender, kind: str, name: str, files: list[str], told: dict[str, Any]) -> Callable[..., Any]:
    """Return a function with the signature and docstring of one of Salt's, which the lender calls."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return lender.call(kind, name, files, list(args), kwargs)

    call.__name__ = call.__qualname__ = name.rpartition(".")[2]
    call.__module__ = f"salt.{kind}.{name.partition('.')[0]}"
    call.__doc__ = told["doc"] or None
    if told["parameters"] is not None:
        call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(each, _KINDS[how], default=default if has_default else inspect.Parameter.empty)
                for each, how, has_default, default in told["parameters"]
            ]
        )
    return call


_KINDS = {
    int(kind): kind
    for kind in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.KEYWORD_ONLY,
        inspect.Parameter.VAR_KEYWORD,
    )
}
