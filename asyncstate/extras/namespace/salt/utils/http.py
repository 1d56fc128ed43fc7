"""Web requests."""

from __future__ import annotations

from typing import Any

from asyncstate.dunders.context import current
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else


def query(url: str, *args: Any, **kwargs: Any) -> Any:
    """Do what ``__salt__["http.query"]`` does."""
    kwargs.pop("opts", None)
    return current.get().salt["http.query"](url, *args, **kwargs)


__getattr__: ModuleGetattr = nothing_else(__name__)
