"""Records which top-level keys of a pillar are read."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _collections_abc import dict_items, dict_keys, dict_values
    from collections.abc import Iterable, Iterator


class WatchedPillar(dict[str, Any]):
    """A pillar that records which keys are read. Iterating over it counts as reading all keys."""

    def __init__(self, pillar: dict[str, Any]) -> None:
        super().__init__(pillar)
        self._seen: set[Any] = set()

    def unused(self) -> list[str]:
        """Return the keys that were never read, in order."""
        return [key for key in dict.keys(self) if key not in self._seen]

    def see(self, keys: Iterable[Any]) -> None:
        """Record that keys are read."""
        self._seen.update(keys)

    @contextmanager
    def noted(self) -> Iterator[set[Any]]:
        """Give the keys that are read in the block; they count as all others."""
        before, self._seen = self._seen, set()
        try:
            yield self._seen
        finally:
            self._seen |= before

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

    def __iter__(self) -> Iterator[str]:
        self._see_all()
        return super().__iter__()

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
        self._seen.update(dict.keys(self))
