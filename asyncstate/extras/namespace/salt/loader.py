"""Loaders for modules that create their own: they return the functions and grains of the calling runtime."""

from __future__ import annotations

from typing import Any

from asyncstate.dunders.context import current
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else


def minion_mods(_opts: Any = None, *_args: Any, **_kwargs: Any) -> Any:
    """Return ``__salt__``."""
    return current.get().salt


def states(_opts: Any = None, *_args: Any, **_kwargs: Any) -> Any:
    """Return ``__states__``."""
    return current.get().states


def utils(_opts: Any = None, *_args: Any, **_kwargs: Any) -> Any:
    """Return ``__utils__``."""
    return current.get().utils


def grains(_opts: Any = None, *_args: Any, **_kwargs: Any) -> dict[str, Any]:
    """Return a copy of ``__grains__``."""
    return dict(current.get().grains)


__getattr__: ModuleGetattr = nothing_else(__name__)
