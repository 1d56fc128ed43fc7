"""States that share no resource with another: they wait for none, and need no place on the scoreboard.

Most files of a tree are like that, and a look here costs a tenth of a touch there. In doubt, a state is not apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.effects.resources import ALWAYS_THERE, ENTRY, PATH, TREE, folder_and_marks, folders_above, plain_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from asyncstate.effects.declared import Footprint

_LASTING = frozenset(ALWAYS_THERE)


class Apart:
    """The names that the footprints of a tree have in common, one footprint for each node that touches anything."""

    def __init__(self, footprints: Iterable[Footprint]) -> None:
        self._touched: dict[str, int] = {}
        self._above: set[str] = {"/"}
        """The folders with anything that a state touches."""
        self._changed: set[str] = set()
        """The paths that are written or made, and those whose whole content is read."""
        self._unrest: dict[str, bool] = {}
        for footprint in footprints:
            self._add(footprint.reads, written=False)
            self._add(footprint.writes, written=True)
            for name in footprint.makes:
                self._add((folder_and_marks(name)[0],), written=True)
                folder = _path(folder_and_marks(name)[0].partition(ENTRY)[0])
                self._changed.update(above for above in folders_above(folder) if above not in _LASTING)

    def _add(self, names: Sequence[str], *, written: bool) -> None:
        touched, above = self._touched, self._above
        for name in names:
            key, _, entry = name.partition(ENTRY)
            if name.startswith(PATH):
                key = _path(key)
                if written or name.endswith(TREE):
                    self._changed.add(key)
                folder = key.rpartition("/")[0]
                if folder and folder not in above:
                    above.add(folder)
                    above.update(folders_above(folder))
            touched[key] = touched.get(key, 0) + (2 if entry else 1)

    def has(self, footprint: Footprint) -> bool:
        """Whether no other state touches what a footprint names, or changes a folder above it."""
        if footprint.makes:
            return False
        for name in footprint.writes:
            key = name
            if name.startswith(PATH):
                key = _path(name)
                if name.endswith(TREE) or key in self._above or self._is_restless(key.rpartition("/")[0]):
                    return False
            if ENTRY in name or self._touched[key] > 1:
                return False
        for name in footprint.reads:
            if name.startswith(PATH):
                if name.endswith(TREE) or ENTRY in name or self._is_restless(_path(name)):
                    return False
            elif ENTRY in name or self._touched[name] > 1:
                return False
        return not any(ENTRY in name or self._is_restless(_path(name)) for name in footprint.leaves)

    def _is_restless(self, path: str) -> bool:
        """Whether a state changes a path, or one above it."""
        known = self._unrest.get(path)
        if known is None:
            known = path in self._changed or (path not in {"", "/"} and self._is_restless(path.rpartition("/")[0]))
            known = self._unrest[path] = known or (path == "" and "/" in self._changed)
        return known


def _path(name: str) -> str:
    """Return the path of a resource in its plain spelling, that of a tree for all below it."""
    path = name.removeprefix(PATH).removesuffix(TREE)
    return plain_path(path if path.startswith("/") else f"/{path}")
