"""Functions that need a program."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else
from asyncstate.extras.namespace.salt.exceptions import CommandNotFoundError
from asyncstate.extras.namespace.salt.utils import path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def which(exe: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make every call raise CommandNotFoundError if the program is not installed."""
    return _needing(lambda: path.which(exe), f"The '{exe}' binary was not found in $PATH.")


def which_bin(exes: Sequence[str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make every call raise CommandNotFoundError if none of the programs is installed."""
    quoted = [f"'{exe}'" for exe in exes]
    return _needing(lambda: path.which_bin(exes), f"None of provided binaries({quoted}) were found in $PATH.")


def _needing(find: Callable[[], str | None], complaint: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if find() is None:
                raise CommandNotFoundError(complaint)
            return function(*args, **kwargs)

        return wrapped

    return decorate


__getattr__: ModuleGetattr = nothing_else(__name__)
