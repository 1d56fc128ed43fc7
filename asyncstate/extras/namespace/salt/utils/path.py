"""Paths, and finding programs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from os import readlink
from os.path import islink
from typing import Any

from asyncstate.data.host import path_join as join
from asyncstate.data.host import which
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else
from asyncstate.extras.namespace.salt.exceptions import CommandNotFoundError
from asyncstate.extras.namespace.salt.utils.stringutils import to_unicode

__all__ = ["check_or_die", "expand", "islink", "join", "os_walk", "readlink", "which", "which_bin"]


def which_bin(exes: str | Iterable[str] | None) -> str | None:
    """Return the path of the first installed program of a list."""
    if isinstance(exes, str):
        return which(exes)
    if not isinstance(exes, Iterable):
        return None
    return next((found for exe in exes if (found := which(exe)) is not None), None)


def check_or_die(command: str | None) -> None:
    """Raise CommandNotFoundError if the program is not installed."""
    if command is None:
        raise CommandNotFoundError("'None' is not a valid command.")
    if not which(command):
        raise CommandNotFoundError(f"'{command}' is not in the path")


def os_walk(top: str | bytes, *args: Any, **kwargs: Any) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walk a tree as ``os.walk`` does, with text for names."""
    yield from os.walk(to_unicode(top), *args, **kwargs)


def expand(path: str) -> str:
    """Replace ``~`` and variables, and follow links."""
    return os.path.realpath(os.path.expandvars(os.path.expanduser(path)))


__getattr__: ModuleGetattr = nothing_else(__name__)
