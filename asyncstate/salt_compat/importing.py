"""``import salt`` in plugins and programs of a tree: real Salt if it is installed, else `asyncstate.salt_compat.salt`.

Such code runs with its own builtins, whose ``__import__`` finds ``salt``. Python looks builtins up in the globals in
which a function was defined, so later imports inside functions, in any thread, find it too.

Nothing is ever put into ``sys.modules`` under the name ``salt``: the host application and the libraries that a plugin
uses see only real Salt. So does ``importlib.import_module("salt…")``.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Final

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
    """Execute ``import salt…`` or ``from salt… import …``. Raises ImportError with a hint at a replacement."""
    if real_salt_is_installed():
        return builtins.__import__(name, globals, locals, fromlist or (), 0)
    from asyncstate.salt_compat.namespace import names_from, provide  # noqa: PLC0415 - plugins of a tree

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
    """Return the ``__builtins__`` for the globals of code whose imports ``importer`` executes."""
    return {**vars(builtins), "__import__": importer, "__salt_system_encoding__": "utf-8"}


PROGRAM_BUILTINS: Final = builtins_with(_import)
"""The builtins of an SLS that is a program: it can import ``salt`` and installed packages."""
