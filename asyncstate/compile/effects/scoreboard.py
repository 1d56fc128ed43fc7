"""The scoreboard: who touched which resource last. Walked in serial order, it says what each state has to wait for.

A resource is a name such as ``user:www`` or ``pkgdb``. Paths know their place: touching ``path:/a/b`` needs ``/a``, so
it waits for whoever wrote ``/a`` last, and a later writer of ``/a`` waits for it. ``path:/a/**`` is everything at and
below ``/a``. Every access costs as much as its path is deep; those whom many wait for are joined in one node.

Making a folder that may be missing (``makedirs``) is an access of its own: those who make the same one do not wait for
each other, but those who need it and those who make it do.

Whoever has to wait is told for what: the resource that both touch and at least one of the two writes.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PATH = "path:"
TREE = "/**"

_ALWAYS_THERE = """
    / /boot /etc /etc/default /home /media /mnt /opt /root /run /srv /tmp /usr /usr/bin /usr/lib /usr/local
    /usr/local/bin /usr/local/lib /usr/local/sbin /usr/sbin /usr/share
    /var /var/cache /var/lib /var/log /var/spool /var/tmp
""".split()
"""Folders of every system: that one makes a folder in them does not keep others waiting who have a file there."""


class _Resource:
    """A plain name: its last writer, and who read it since."""

    __slots__ = ("name", "readers", "writer")

    def __init__(self, name: str) -> None:
        self.name = name
        self.writer = -1
        self.readers: list[int] = []


class _Place:
    """A path.

    ``users`` are those who used it or something below since it was last written, ``writers_below`` those of them who
    wrote below it; ``tree_writer`` and ``tree_readers`` are the ones who touched all below it, ``makers`` those who
    made the folder if it was missing, ``needers`` those who needed it. One that is ``lasting`` never is missing.
    """

    __slots__ = (
        "children",
        "lasting",
        "makers",
        "name",
        "needers",
        "tree_readers",
        "tree_writer",
        "users",
        "writer",
        "writers_below",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.children: dict[str, _Place] = {}
        self.writer = -1
        self.users: list[int] = []
        self.writers_below: list[int] = []
        self.tree_writer = -1
        self.tree_readers: list[int] = []
        self.makers: list[int] = []
        self.needers: list[int] = []
        self.lasting = False


_Access = tuple[list[_Place] | str, bool, bool]
"""A path as the places down to it or a plain name, whether it is a whole tree, whether it is written."""


Waits = dict[int, tuple[str, ...]]
"""The nodes one has to wait for, and the names of the resources because of which."""


class Scoreboard:
    """Resources and who touched them.

    ``join(nodes, resource)`` makes one node that is done when all of ``nodes`` are; all of them touched ``resource``.
    """

    def __init__(self, join: Callable[[list[int], str], int]) -> None:
        self._join = join
        self._resources: dict[str, _Resource] = {}
        self._root = _Place(f"{PATH}/")
        for path in _ALWAYS_THERE:
            self._places(path)[-1].lasting = True

    def touch(self, node: int, reads: Iterable[str], writes: Iterable[str], makes: Iterable[str] = ()) -> Waits:
        """Return what ``node`` has to wait for, and why; record what it reads, writes and makes.

        ``makes`` are the paths of folders that it makes where they, or any above them, are missing. What both touch is
        named as ``node`` names it, or is the folder above that the other one wrote or made.
        """
        before: Waits = {}
        made = [self._places(name.removeprefix(PATH)) for name in makes]
        makes_here = [place for places in made for place in places if not place.lasting]
        placed = [*self._placed(reads, writes), *((places, False, False) for places in made)]
        needs = _needed(placed, makes_here)
        for where, tree, writes_it in placed:
            if isinstance(where, str):
                self._look(where, writes_it, before)
            else:
                self._look_at_path(where, tree, writes_it, before)
        for place in needs:
            place.makers = self._joined(place.makers, place.name)
            _wait_for_all(before, place.makers, place.name)
        for place in makes_here:
            place.needers = self._joined(place.needers, place.name)
            _wait_for_all(before, place.needers, place.name)
        for where, tree, writes_it in placed:
            if isinstance(where, str):
                self._note(where, node, writes_it)
            else:
                self._note_path(where, node, tree, writes_it)
        for place in needs:
            _append(place.needers, node)
        for place in makes_here:
            _append(place.makers, node)
        return before

    def _placed(self, reads: Iterable[str], writes: Iterable[str]) -> list[_Access]:
        written = dict.fromkeys(writes)
        accesses = [(name, False) for name in dict.fromkeys(reads) if name not in written]
        accesses += [(name, True) for name in written]
        return [
            (self._places(name.removeprefix(PATH)), name.endswith(TREE), writes_it)
            if name.startswith(PATH)
            else (name, False, writes_it)
            for name, writes_it in accesses
        ]

    def _look(self, name: str, writes: bool, before: Waits) -> None:
        resource = self._resources.get(name)
        if resource is not None:
            if writes and resource.readers:
                _wait_for_all(before, resource.readers, resource.name)
            elif resource.writer != -1:
                _wait(before, resource.writer, resource.name)

    def _note(self, name: str, node: int, writes: bool) -> None:
        resource = self._resources.get(name)
        if resource is None:
            resource = self._resources[name] = _Resource(name)
        if writes:
            resource.writer = node
            resource.readers = []
        elif not resource.readers or resource.readers[-1] != node:
            resource.readers.append(node)

    def _places(self, path: str) -> list[_Place]:
        """Return the places from the root down to a path."""
        path = posixpath.normpath("/" + path.removesuffix("**"))
        place = self._root
        places = [place]
        for part in path.split("/"):
            if part:
                below = place.children.get(part)
                if below is None:
                    name = f"{place.name}{part}" if place is self._root else f"{place.name}/{part}"
                    below = place.children[part] = _Place(name)
                place = below
                places.append(place)
        return places

    def _look_at_path(self, places: list[_Place], tree: bool, writes: bool, before: Waits) -> None:
        place = places[-1]
        own = self._tree(place) if tree else place.name
        for above in places:
            writer = above.writer
            if writer != -1:
                if above.tree_writer != -1:
                    _wait(before, above.tree_writer, own)
                if writer != above.tree_writer and (above is not place or not (writes and place.users)):
                    _wait(before, writer, above.name)
            if writes and above.tree_readers:
                above.tree_readers = self._joined(above.tree_readers, self._tree(above))
                _wait(before, above.tree_readers[0], own)
        if writes:
            _wait_for_all(before, place.users, own)
        elif tree and place.writers_below:
            place.writers_below = self._joined(place.writers_below, own)
            _wait(before, place.writers_below[0], own)

    def _tree(self, place: _Place) -> str:
        """Return the name of everything at and below a path."""
        return f"{PATH}{TREE}" if place is self._root else f"{place.name}{TREE}"

    def _note_path(self, places: list[_Place], node: int, tree: bool, writes: bool) -> None:
        place = places[-1]
        for above in places[:-1]:
            _append(above.users, node)
            if writes:
                _append(above.writers_below, node)
        if writes:
            place.users = []
            place.writers_below = []
            place.makers = []
            place.needers = []
            if tree:
                place.tree_writer = node
                place.tree_readers = []
            place.writer = node
        else:
            _append(place.users, node)
            if tree:
                _append(place.tree_readers, node)

    def _joined(self, nodes: list[int], resource: str) -> list[int]:
        return nodes if len(nodes) < 2 else [self._join(nodes, resource)]


def _wait(before: Waits, node: int, resource: str) -> None:
    known = before.get(node)
    if known is None:
        before[node] = (resource,)
    elif resource not in known:
        before[node] = (*known, resource)


def _wait_for_all(before: Waits, nodes: Iterable[int], resource: str) -> None:
    for node in nodes:
        _wait(before, node, resource)


def _needed(placed: list[_Access], made: list[_Place]) -> list[_Place]:
    """Return the folders that must be there: those that are read, those that something is written in."""
    own = {id(place) for place in made}
    needed = []
    for where, _, writes_it in placed:
        if not isinstance(where, str):
            folders = where[-2:-1] if writes_it else where[-1:]
            needed += [place for place in folders if not place.lasting and id(place) not in own]
    return needed


def _append(nodes: list[int], node: int) -> None:
    if not nodes or nodes[-1] != node:
        nodes.append(node)
