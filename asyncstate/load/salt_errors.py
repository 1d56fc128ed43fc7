"""Exceptions where real Salt is installed: then plugins raise and catch Salt's classes, and bundled modules ours.

An exception that crosses from one plugin to another becomes an instance of both, so that an ``except`` on either side
catches it. Where Salt is not installed its names are our classes, and nothing is to be done.
"""

from __future__ import annotations

import sys
from typing import Any

from asyncstate.errors import AsyncStateError, CommandExecutionError, InvocationError, RenderError, RunCancelled
from asyncstate.load.salt_import import real_salt_is_installed

_PAIRS = (
    (CommandExecutionError, "CommandExecutionError"),
    (InvocationError, "SaltInvocationError"),
    (RenderError, "SaltRenderError"),
    (AsyncStateError, "SaltException"),
)


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
