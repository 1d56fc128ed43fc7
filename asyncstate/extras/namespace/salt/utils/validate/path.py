"""Access rights of this process on a path."""

from __future__ import annotations

import os

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else


def is_writeable(path: str, check_parent: bool = False) -> bool:
    """Return whether a file can be written; with ``check_parent`` also whether it can be created."""
    if os.path.exists(path) or not check_parent:
        return os.access(path, os.W_OK)
    return os.access(os.path.dirname(path), os.W_OK)


def is_readable(path: str) -> bool:
    """Return whether a file can be read."""
    return os.access(path, os.R_OK)


def is_executable(path: str) -> bool:
    """Return whether a file can be executed."""
    return os.access(path, os.X_OK)


__getattr__: ModuleGetattr = nothing_else(__name__)
