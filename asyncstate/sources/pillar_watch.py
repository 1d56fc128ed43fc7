"""A pillar that records reads of its top-level keys, for the lint rule on unread keys and for editors."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from _collections_abc import dict_items, dict_keys, dict_values
    from collections.abc import Iterable, Iterator

WHICH_KEYS: Final = object()
"""Recorded among the read keys for a read of the list or the number of keys."""


class WatchedPillar(dict[str, Any]):
    """A pillar that records the keys that are read. Iterating over it counts as reading all keys."""

    def __init__(self, pillar: dict[str, Any]) -> None:
        super().__init__(pillar)
        self._seen: set[Any] = set()

    def unused(self) -> list[str]:
        """Return the keys that were never read, in order."""
        return [key for key in dict.keys(self) if key not in self._seen]

    def see(self, keys: Iterable[Any]) -> None:
        """Record a read of keys."""
        self._seen.update(keys)

    def changed_since(self, before: dict[str, Any]) -> set[Any]:
        """Return the keys whose values differ from those in an earlier pillar, and `WHICH_KEYS` if the keys differ."""
        keys = [*dict.keys(self), *(key for key in dict.keys(before) if not dict.__contains__(self, key))]
        changed = {key for key in keys if dict.get(self, key, WHICH_KEYS) != dict.get(before, key, WHICH_KEYS)}
        return changed | {WHICH_KEYS} if list(dict.keys(self)) != list(dict.keys(before)) else changed

    @contextmanager
    def noted(self) -> Iterator[set[Any]]:
        """Yield the set of keys read in the block; they also count for `unused`."""
        before, self._seen = self._seen, set()
        try:
            yield self._seen
        finally:
            self._seen = self._seen | before

    def __getitem__(self, key: str) -> Any:
        self._seen.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value, or the default."""
        self._seen.add(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self._seen.add(key)
        return super().__contains__(key)

    def __len__(self) -> int:
        self._seen.add(WHICH_KEYS)
        return super().__len__()

    def __or__(self, other: Any) -> Any:
        self._see_all()
        return super().__or__(other)

    def __ror__(self, other: Any) -> Any:
        self._see_all()
        return super().__ror__(other)

    def __reversed__(self) -> Iterator[str]:
        self._see_all()
        return super().__reversed__()

    def __iter__(self) -> Iterator[str]:
        self._see_all()
        return super().__iter__()

    def copy(self) -> dict[str, Any]:
        """Return a copy, which records nothing."""
        self._see_all()
        return super().copy()

    def keys(self) -> dict_keys[str, Any]:
        """Return all keys."""
        self._see_all()
        return super().keys()

    def values(self) -> dict_values[str, Any]:
        """Return all values."""
        self._see_all()
        return super().values()

    def items(self) -> dict_items[str, Any]:
        """Return all keys and values."""
        self._see_all()
        return super().items()

    def _see_all(self) -> None:
        self._seen.add(WHICH_KEYS)
        self._seen.update(dict.keys(self))
