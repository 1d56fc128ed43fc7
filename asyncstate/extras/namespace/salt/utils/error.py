"""Raising an exception by its name."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, NoReturn

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else
from asyncstate.extras.namespace.salt import exceptions

if TYPE_CHECKING:
    from collections.abc import Iterable


def raise_error(name: str | None = None, args: Iterable[object] | None = None, message: str = "") -> NoReturn:
    """Raise a Salt or built-in exception by name; SaltException if there is none of that name."""
    wanted = name or "Exception"
    kind = getattr(exceptions, wanted, None) or getattr(builtins, wanted, None) or exceptions.SaltException
    raise kind(*(args if args is not None else (message,)))


__getattr__: ModuleGetattr = nothing_else(__name__)
