"""The package ``salt`` for plugins written for Salt: real Salt if it is installed, else the one that an extra offers.

Plugins and programs of a tree run with their own builtins, whose ``__import__`` finds ``salt``. Python looks builtins
up in the globals in which a function was defined, so later imports inside functions, in any thread, find it too.

Nothing is ever put into ``sys.modules`` under the name ``salt``: the host application and the libraries that a plugin
uses see only real Salt. So does ``importlib.import_module("salt…")``.

Bundled modules raise and catch our exceptions. So one that crosses from one plugin to another becomes an instance of
our class and of Salt's, and an ``except`` on either side catches it. Without real Salt, its names are our classes.

Two parts of that namespace need no import: ``__serializers__``, and functions that a plugin offers only if a program
or a module is present (Salt's ``@depends`` and the like).
"""

from __future__ import annotations

import builtins
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from asyncstate.errors import AsyncStateError, CommandExecutionError, InvocationError, RenderError, RunCancelled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SALT: Final = "salt"
"""The name of the package."""
OURS: Final[Mapping[str, type[Exception]]] = {
    "CommandExecutionError": CommandExecutionError,
    "SaltInvocationError": InvocationError,
    "SaltRenderError": RenderError,
    "SaltException": AsyncStateError,
}
"""Our classes for exceptions of Salt."""
_REQUIREMENTS: Final = "__requirements__"
_FORMATS: Final = ("configparser", "json", "yaml")
_FUNCTIONS: Final = ("serialize", "deserialize")


@lru_cache(maxsize=1)
def real_salt_is_installed() -> bool:
    """Return whether Salt itself can be imported; then plugins use it. Looked up once per process, without an import.

    A directory that happens to be called ``salt``, such as a file root below the working directory, does not count.
    """
    try:
        spec = importlib.util.find_spec("salt")
    except (ImportError, ValueError):
        return False
    if spec is None or spec.origin is None:
        return False
    return any(os.path.isfile(os.path.join(place, "exceptions.py")) for place in spec.submodule_search_locations or ())


def import_salt(
    name: str,
    globals: Mapping[str, object] | None,
    locals: Mapping[str, object] | None,
    fromlist: Sequence[str] | None,
) -> Any:
    """Execute ``import salt…`` or ``from salt… import …``. Raises ImportError with a hint at a replacement."""
    if real_salt_is_installed():
        return builtins.__import__(name, globals, locals, fromlist or (), 0)
    return _names()(name, fromlist or ())


@lru_cache(maxsize=1)
def _names() -> Callable[[str, Sequence[str]], Any]:
    """Return what imports our own ``salt``, looked up once: a function that imports is called for each state.

    Raises ModuleNotFoundError if no extra has it.
    """
    from asyncstate import extend  # noqa: PLC0415 - plugins of a tree

    if (names := extend.offered("salt")) is None:
        lacking = "salt needs an extra that is not installed: install asyncstate with all its extras"
        raise ModuleNotFoundError(lacking, name=SALT)
    imported: Callable[[str, Sequence[str]], Any] = names
    return imported


def _import(
    name: str,
    globals: Mapping[str, object] | None = None,
    locals: Mapping[str, object] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> Any:
    if level == 0 and name.partition(".")[0] == SALT:
        return import_salt(name, globals, locals, fromlist)
    return builtins.__import__(name, globals, locals, fromlist or (), level)


def builtins_with(importer: Callable[..., Any]) -> dict[str, Any]:
    """Return the ``__builtins__`` for the globals of code whose imports ``importer`` executes."""
    return {**vars(builtins), "__import__": importer, "__salt_system_encoding__": "utf-8"}


PROGRAM_BUILTINS: Final = builtins_with(_import)
"""The builtins of an SLS that is a program: it can import ``salt`` and installed packages."""


def agree_on(error: Exception) -> None:
    """Make ``error`` an instance of our class and of Salt's, if it is one of either and Salt is in use."""
    salt: Any = sys.modules.get("salt.exceptions")
    if salt is not None and real_salt_is_installed() and not isinstance(error, RunCancelled):
        both = _both(type(error), salt)
        if both is not None:
            error.__class__ = both


def _both(kind: type[Exception], salt: Any) -> type[Exception] | None:
    for name, ours in OURS.items():
        theirs = getattr(salt, name)
        if issubclass(kind, ours) != issubclass(kind, theirs):
            partner = theirs if issubclass(kind, ours) else ours
            return type(kind.__name__, (kind, partner), {"__module__": kind.__module__})
    return None


class Serializers(Mapping[str, "Callable[..., Any]"]):
    """``__serializers__``: the functions by name, such as ``json.serialize``.

    A format is imported when one of its functions is looked up.
    """

    def __getitem__(self, name: str) -> Callable[..., Any]:
        form, _, function = name.partition(".")
        if form not in _FORMATS or function not in _FUNCTIONS:
            raise KeyError(name)
        found: Callable[..., Any] = getattr(_names()(f"salt.serializers.{form}", (function,)), function)
        return found

    def __iter__(self) -> Iterator[str]:
        return (f"{form}.{function}" for form in _FORMATS for function in _FUNCTIONS)

    def __len__(self) -> int:
        return len(_FORMATS) * len(_FUNCTIONS)


def require(func: Any, is_met: Callable[[], bool], fallback: Callable[..., Any] | None = None) -> None:
    """Offer a function only if ``is_met``, else ``fallback`` or nothing. Further calls add conditions, newest last."""
    setattr(func, _REQUIREMENTS, [*getattr(func, _REQUIREMENTS, ()), (is_met, fallback)])


def offered(func: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the function offered for ``func`` here: itself, the fallback of an unmet condition, or None."""
    for is_met, fallback in getattr(func, _REQUIREMENTS, ()):
        if not is_met():
            return fallback  # type: ignore[no-any-return]  # the plugin's own function
    return func
