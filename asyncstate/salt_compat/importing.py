"""``import salt`` in plugins and programs of a tree: real Salt if it is installed, else `asyncstate.salt_compat.salt`.

They are run with builtins of their own, whose ``__import__`` knows ``salt``. Python looks builtins up in the globals a
function was defined in, so that imports inside functions, made later and in any thread, find it too.
Nothing is ever put into ``sys.modules`` under the name ``salt``: the host application and the libraries a plugin uses
see no Salt that is not there. ``importlib.import_module("salt…")`` is such a library, and finds only real Salt.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Final

from asyncstate.salt_compat.namespace import names_from, provide
from asyncstate.salt_compat.real_salt import real_salt_is_installed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SALT: Final = "salt"
"""The name of the package."""


def import_salt(
    name: str,
    globals: Mapping[str, object] | None,
    locals: Mapping[str, object] | None,
    fromlist: Sequence[str] | None,
) -> Any:
    """Do what ``import salt…`` or ``from salt… import …`` says. Raises ImportError that names a way out."""
    if real_salt_is_installed():
        return builtins.__import__(name, globals, locals, fromlist or (), 0)
    module = provide(name)
    if not fromlist:
        return provide("salt")
    names_from(name, module, fromlist)
    return module


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
    """Return what stands under ``__builtins__`` in the globals of code whose imports ``importer`` makes."""
    return {**vars(builtins), "__import__": importer, "__salt_system_encoding__": "utf-8"}


PROGRAM_BUILTINS: Final = builtins_with(_import)
"""The builtins of an SLS that is a program: it can import ``salt``, and what is installed."""
