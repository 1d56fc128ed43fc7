"""``salt.modules.x`` and ``salt.states.x``: the functions of bundled plugins, for code that imports them directly.

As in Salt, a direct import gives the bundled module even if the tree has a module of that name, which may be the
importer itself. An async function can be called like any other, by the rules of ``__salt__``.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import runtime_services
from asyncstate.extras.namespace.names import absent

if TYPE_CHECKING:
    from collections.abc import Callable

_FILES = {"cmdmod": "cmd", "pip_state": "pip", "saltmod": "salt", "virtualenv_mod": "virtualenv"}
"""The names here of plugins whose files have another name in Salt."""


class BundledModule(ModuleType):
    """One bundled plugin, with its public names only: its private names differ from those in Salt."""

    def __init__(self, address: str, module: ModuleType) -> None:
        super().__init__(address, module.__doc__)
        self.__file__: str | None = module.__file__
        self._module = module
        self.__all__ = [
            name for name, value in vars(module).items() if inspect.isfunction(value) and not name.startswith("_")
        ]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = None if name.startswith("_") else getattr(self._module, name, None)
        if not inspect.isfunction(found):
            address = f"{self.__name__}.{name}"
            raise AttributeError(absent(address))
        return _callable_anywhere(found, self._module) if inspect.iscoroutinefunction(inspect.unwrap(found)) else found


def _callable_anywhere(func: Callable[..., Any], module: ModuleType) -> Callable[..., Any]:
    name = f"{module.__name__.rpartition('.')[2]}.{func.__name__}"

    def call(*args: Any, **kwargs: Any) -> Any:
        return runtime_services().bridged(func, name)(*args, **kwargs)

    return call


@lru_cache(maxsize=256)
def bundled_module(kind: str, name: str) -> ModuleType:
    """Return the bundled plugin for Salt's ``salt/<kind>/<name>.py``. Raises AttributeError if there is none."""
    address = f"asyncstate.{kind}.{_FILES.get(name, name)}"
    if name.startswith("_") or importlib.util.find_spec(address) is None:
        raise AttributeError(absent(f"salt.{kind}.{name}"))
    return BundledModule(f"salt.{kind}.{name}", importlib.import_module(address))
