"""Ordered dicts."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DefaultOrderedDict", "HashableOrderedDict", "OrderedDict"]


class DefaultOrderedDict(OrderedDict[Any, Any]):
    """An ordered dict whose missing values are created by a factory."""

    def __init__(self, default_factory: Callable[[], Any] | None = None, *args: Any, **kwargs: Any) -> None:
        if default_factory is not None and not callable(default_factory):
            raise TypeError("first argument must be callable")
        super().__init__(*args, **kwargs)
        self.default_factory = default_factory

    def __missing__(self, key: Any) -> Any:
        if self.default_factory is None:
            raise KeyError(key)
        value = self[key] = self.default_factory()
        return value

    def copy(self) -> DefaultOrderedDict:
        """Return a shallow copy."""
        return type(self)(self.default_factory, self)


class HashableOrderedDict(OrderedDict[Any, Any]):
    """An ordered dict that may be a key: it is hashed by identity, not by content."""

    def __hash__(self) -> int:  # type: ignore[override]  # a dict has none
        return id(self)


__getattr__: ModuleGetattr = nothing_else(__name__)
