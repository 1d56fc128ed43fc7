"""The scoreboard: who touched which resource last. Walked in serial order, it says what each state has to wait for.

A resource is a name such as ``user:www`` or ``pkgdb``. Paths know their place: touching ``path:/a/b`` needs ``/a``, so
it waits for whoever wrote ``/a`` last, and a later writer of ``/a`` waits for it. ``path:/a/**`` is everything at and
below ``/a``. Every access costs as much as its path is deep; those whom many wait for are joined in one node.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PATH = "path:"
TREE = "/**"


class _Resource:
    """A plain name: its last writer, and who read it since."""

    __slots__ = ("readers", "writer")

    def __init__(self) -> None:
        self.writer = -1
        self.readers: list[int] = []


class _Place:
    """A path.

    ``users`` are those who used it or something below since it was last written, ``writers_below`` those of them who
    wrote below it; ``tree_writer`` and ``tree_readers`` are the ones who touched all below it.
    """

    __slots__ = ("children", "tree_readers", "tree_writer", "users", "writer", "writers_below")

    def __init__(self) -> None:
        self.children: dict[str, _Place] = {}
        self.writer = -1
        self.users: list[int] = []
        self.writers_below: list[int] = []
        self.tree_writer = -1
        self.tree_readers: list[int] = []


class Scoreboard:
    """Resources and who touched them. ``join(nodes)`` makes one node that is done when all of ``nodes`` are."""

    def __init__(self, join: Callable[[list[int]], int]) -> None:
        self._join = join
        self._resources: dict[str, _Resource] = {}
        self._root = _Place()

    def touch(self, node: int, reads: Iterable[str], writes: Iterable[str]) -> list[int]:
        """Return the nodes that ``node`` has to wait for, and take note of what it reads and writes."""
        before: list[int] = []
        written = dict.fromkeys(writes)
        accesses = [(name, False) for name in dict.fromkeys(reads) if name not in written]
        accesses += [(name, True) for name in written]
        placed = [
            (self._places(name), name.endswith(TREE), writes) if name.startswith(PATH) else (name, False, writes)
            for name, writes in accesses
        ]
        for where, tree, writes_it in placed:
            if isinstance(where, str):
                self._look(where, writes_it, before)
            else:
                self._look_at_path(where, tree, writes_it, before)
        for where, tree, writes_it in placed:
            if isinstance(where, str):
                self._note(where, node, writes_it)
            else:
                self._note_path(where, node, tree, writes_it)
        return [other for other in dict.fromkeys(before) if other != -1]

    def _look(self, name: str, writes: bool, before: list[int]) -> None:
        resource = self._resources.get(name)
        if resource is not None:
            if writes and resource.readers:
                before.extend(resource.readers)
            else:
                before.append(resource.writer)

    def _note(self, name: str, node: int, writes: bool) -> None:
        resource = self._resources.get(name)
        if resource is None:
            resource = self._resources[name] = _Resource()
        if writes:
            resource.writer = node
            resource.readers = []
        elif not resource.readers or resource.readers[-1] != node:
            resource.readers.append(node)

    def _places(self, name: str) -> list[_Place]:
        """Return the places from the root down to a path."""
        path = posixpath.normpath("/" + name[len(PATH) :].removesuffix("**"))
        place = self._root
        places = [place]
        for part in path.split("/"):
            if part:
                below = place.children.get(part)
                if below is None:
                    below = place.children[part] = _Place()
                place = below
                places.append(place)
        return places

    def _look_at_path(self, places: list[_Place], tree: bool, writes: bool, before: list[int]) -> None:
        place = places[-1]
        for above in places:
            if above is not place or not (writes and place.users):
                before.append(above.writer)
            before.append(above.tree_writer)
            if writes and above.tree_readers:
                above.tree_readers = self._joined(above.tree_readers)
                before.append(above.tree_readers[0])
        if writes:
            before.extend(place.users)
        elif tree and place.writers_below:
            place.writers_below = self._joined(place.writers_below)
            before.append(place.writers_below[0])

    def _note_path(self, places: list[_Place], node: int, tree: bool, writes: bool) -> None:
        place = places[-1]
        for above in places[:-1]:
            _append(above.users, node)
            if writes:
                _append(above.writers_below, node)
        if writes:
            place.users = []
            place.writers_below = []
            if tree:
                place.tree_writer = node
                place.tree_readers = []
            place.writer = node
        else:
            _append(place.users, node)
            if tree:
                _append(place.tree_readers, node)

    def _joined(self, nodes: list[int]) -> list[int]:
        return nodes if len(nodes) == 1 else [self._join(nodes)]


def _append(nodes: list[int], node: int) -> None:
    if not nodes or nodes[-1] != node:
        nodes.append(node)
