"""Containers that cannot be changed, at any depth."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else


class _Frozen:
    """The base of the three types: they wrap a container; ``copy`` returns a changeable copy of it."""

    def __init__(self, obj: Any) -> None:
        self._obj = obj

    def __len__(self) -> int:
        return len(self._obj)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._obj)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._obj!r}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self._obj, memo)

    def copy(self) -> Any:
        """Return a deep copy that can be changed."""
        return copy.deepcopy(self._obj)


class ImmutableDict(_Frozen, Mapping[Any, Any]):
    """A dict."""

    def __getitem__(self, key: Any) -> Any:
        return freeze(self._obj[key])


class ImmutableList(_Frozen, Sequence[Any]):
    """A list."""

    def __getitem__(self, key: Any) -> Any:
        return freeze(self._obj[key])

    def __add__(self, other: Any) -> Any:
        return self._obj + other

    def __radd__(self, other: Any) -> Any:
        return other + self._obj


class ImmutableSet(_Frozen, AbstractSet[Any]):
    """A set."""

    def __contains__(self, key: object) -> bool:
        return key in self._obj


def freeze(obj: Any) -> Any:
    """Return a dict, list or set as one that cannot be changed, anything else as it is."""
    for kind, frozen in ((dict, ImmutableDict), (list, ImmutableList), (set, ImmutableSet)):
        if isinstance(obj, kind):
            return frozen(obj)
    return obj


__getattr__: ModuleGetattr = nothing_else(__name__)
