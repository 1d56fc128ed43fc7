"""Real Salt, if it is installed: plugins import it in place of ours, and raise and catch its exceptions.

Bundled modules raise and catch ours. So an exception that crosses from one plugin to another becomes an instance of
both classes, and an ``except`` on either side catches it. Without real Salt, its names are our classes already.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import lru_cache
from typing import Any

from asyncstate.errors import AsyncStateError, CommandExecutionError, InvocationError, RenderError, RunCancelled

_PAIRS = (
    (CommandExecutionError, "CommandExecutionError"),
    (InvocationError, "SaltInvocationError"),
    (RenderError, "SaltRenderError"),
    (AsyncStateError, "SaltException"),
)


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


def agree_on(error: Exception) -> None:
    """Make ``error`` an instance of our class and of Salt's, if it is one of either and Salt is in use."""
    salt: Any = sys.modules.get("salt.exceptions")
    if salt is not None and real_salt_is_installed() and not isinstance(error, RunCancelled):
        both = _both(type(error), salt)
        if both is not None:
            error.__class__ = both


def _both(kind: type[Exception], salt: Any) -> type[Exception] | None:
    for ours, name in _PAIRS:
        theirs = getattr(salt, name)
        if issubclass(kind, ours) != issubclass(kind, theirs):
            partner = theirs if issubclass(kind, ours) else ours
            return type(kind.__name__, (kind, partner), {"__module__": kind.__module__})
    return None
