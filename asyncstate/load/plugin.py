"""The loader's results: a loaded plugin, and one function of it."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from asyncstate.interfaces.base import is_hidden_stub
from asyncstate.load.signature import Signature

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


class LoadedModule:
    """One plugin under one of its names, as a runtime sees it.

    ``adapted``: it was adapted to an interface and has all its functions. ``borrowed``: it is Salt's, and a worker
    process runs it.
    """

    __slots__ = ("adapted", "borrowed", "bundled", "file", "functions", "name", "namespace")

    def __init__(
        self,
        name: str,
        file: str,
        namespace: ModuleType | None,
        *,
        bundled: bool = False,
        adapted: bool = False,
        borrowed: bool = False,
    ) -> None:
        self.name: str = name
        self.file: str = file
        self.namespace: ModuleType | None = namespace
        self.bundled: bool = bundled
        self.adapted: bool = adapted
        self.borrowed: bool = borrowed
        self.functions: dict[str, LoadedFunction] = {}

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return a module-level name of the plugin, such as ``__exclusive__``."""
        return getattr(self.namespace, name, default)

    def __repr__(self) -> str:
        return f"<plugin {self.name} from {self.file}>"


class LoadedFunction:
    """A plugin function under its full name, with what the runtime must know to call it.

    ``hidden`` functions (interface stubs) can be called, but ``in`` tests and listings leave them out.
    """

    __slots__ = ("_signature", "func", "hidden", "is_async", "module", "name")

    def __init__(self, name: str, func: Callable[..., Any], module: LoadedModule) -> None:
        self.name: str = name
        self.func: Callable[..., Any] = func
        self.module: LoadedModule = module
        self.is_async: bool = is_async(func)
        self.hidden: bool = is_hidden_stub(func)
        self._signature: Signature | None = None

    @property
    def signature(self) -> Signature:
        """The parameters, summarised once. Annotations bind only in bundled functions."""
        if self._signature is None:
            self._signature = Signature.of(self.func, typed=self.module.bundled)
        return self._signature

    @property
    def doc(self) -> str:
        """The docstring, without its indentation."""
        return inspect.getdoc(self.func) or ""

    def __repr__(self) -> str:
        return f"<{'async ' if self.is_async else ''}function {self.name} from {self.module.file}>"


def is_async(func: Callable[..., Any]) -> bool:
    """Return whether a call of ``func`` returns a coroutine; sees through decorators, partials and callable objects."""
    while isinstance(func, functools.partial):
        func = func.func
    func = inspect.unwrap(func)
    if inspect.iscoroutinefunction(func):
        return True
    if inspect.isfunction(func) or inspect.ismethod(func) or inspect.isclass(func):
        return False
    return inspect.iscoroutinefunction(type(func).__call__)
