"""Links: a path that leads through a link counts under every name that the link may give it.

There are the links that this machine has when the tree is compiled, and those that states declare to make (``links`` in
a footprint, symbolic and hard) or take elsewhere (``copies``). A link that the tree switches has several targets. All
of them count for the whole run: which one holds when a state runs may depend on what fails before it.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_left, insort
from itertools import islice
from typing import TYPE_CHECKING

from asyncstate.effects.resources import ENTRY, PATH, TREE, folder_and_marks, plain_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from asyncstate.sources.machine import RealPaths

_MOST_NAMES = 64
"""The number of names of a path up to which each counts; above, their folders do."""

_MOST_STEPS = 512
_DEEPEST = 64
"""Limits of the search for names of a path, in number and depth: links can lead in circles, by ever longer paths."""

_ANYWHERE = (TREE,)

_MOST_TARGETS = 32
"""The number of targets of links below a tree up to which each counts; above, their folders do."""


class LinkedPaths:
    """Finds the other names of paths. ``made`` are the links that states make, with what each says.

    ``copies`` are what states copy or move, each with where it comes from: links go with it. Resources that are no
    paths have no other names.
    """

    def __init__(
        self, links: RealPaths | None, made: Iterable[tuple[str, str]] = (), copies: Iterable[tuple[str, str]] = ()
    ) -> None:
        self._links = links
        self._made: dict[str, dict[str, None]] = {}
        self._below: dict[str, dict[str, None]] = {}
        self._known: dict[str, tuple[str, ...]] = {}
        self._alone: set[str] = set()
        """Names of paths without other names."""
        self._copied: dict[str, dict[str, None]] = {}
        copies = [(plain_path(place), plain_path(source)) for place, source in copies]
        for place, source in copies:
            self._copied.setdefault(place, {}).update({source: None, **self._copied.get(source, {})})
        found = [(plain_path(path), target) for path, target in made if path.startswith("/") and target]
        if copies:
            found += self._taken_along(found, copies)
        for path, target in found:
            self._add(path, target)
        for path, target in found:  # a link in a folder that has several names
            folder, name = posixpath.split(path)
            for other in self._others(folder):
                if not other.endswith(TREE):
                    self._add(posixpath.join(other, name), target)
        self._known.clear()
        for path in list(self._made):
            self._add_below(path)

    def all_names(self, names: tuple[str, ...], own: Collection[str] = ()) -> tuple[str, ...]:
        """Return the names of resources with all other names of each path.

        ``own`` are links that the state itself makes: such a path is the link, not what it leads to.
        """
        if self._links is None and not self._made:
            return names
        more: dict[str, None] = {}
        for name in names:
            if name.startswith("path:/") and (own or name not in self._alone):
                others = self._other_names(name, own)
                if others:
                    more.update(others)
                elif not own:
                    self._alone.add(name)
        if not more:
            return names
        known = set(names)
        return (*names, *(name for name in more if name not in known))

    def _other_names(self, name: str, own: Collection[str]) -> dict[str, None]:
        path, rest = _split(name)
        others = dict.fromkeys(_name(other, rest) for other in self._others_of(path, own))
        if ENTRY in path:
            file, mark, entry = path.partition(ENTRY)
            others.update((_name(other, f"{mark}{entry}{rest}"), None) for other in self._others_of(file, own))
        if rest == TREE and self._below:
            others.update((_name(target, TREE), None) for target in self._below.get(path, ()))
        return others

    def _taken_along(self, found: list[tuple[str, str]], copies: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Yield the links of the tree that are copied, or are in what is copied, at their new places."""
        said: dict[str, dict[str, None]] = {}
        for path, target in found:
            said.setdefault(path, {})[target] = None
        links = sorted(said)
        for place, source in copies:
            taken = {place: list(said[source])} if source in said else {}
            for path in islice(links, bisect_left(links, f"{source}/"), None):
                if not path.startswith(f"{source}/"):
                    break
                taken[f"{place}{path[len(source) :]}"] = list(said[path])
            for path, targets in taken.items():
                yield from ((path, target) for target in targets)
                if path not in said:
                    insort(links, path)
                said.setdefault(path, {}).update(dict.fromkeys(targets))

    def _others_of(self, path: str, own: Collection[str]) -> Iterable[str]:
        if path not in own:
            return self._others(path)
        folder, link = posixpath.split(path)
        others = self._others(folder)
        return [other if other.endswith(TREE) else posixpath.join(other, link) for other in others]

    def _add(self, path: str, target: str) -> None:
        where = plain_path(posixpath.join(posixpath.dirname(path), target))
        if where != path:
            self._made.setdefault(path, {})[where] = None

    def _add_below(self, path: str) -> None:
        """Note for every folder above a link where the link leads."""
        targets = [name for target in self._made[path] for name in (target, *self._others(target))]
        above = posixpath.dirname(path)
        while above != "/":
            outside = [target for target in targets if not target.startswith(f"{above}/") and target != above]
            if outside:
                self._below[above] = _folders_of((*self._below.get(above, ()), *outside))
            above = posixpath.dirname(above)

    def _others(self, path: str) -> tuple[str, ...]:
        """Return the other names of a path."""
        if not (self._made or self._copied):
            real = self._links(path) if self._links is not None else path
            return (real,) if real != path else ()
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._followed(path)
        return known

    def _followed(self, path: str) -> tuple[str, ...]:
        found = {path: None}
        waiting = [path]
        while waiting:
            for other in self._one_step(waiting.pop()):
                if other not in found:
                    found[other] = None
                    waiting.append(other)
                    if len(found) > _MOST_STEPS or other.count("/") > _DEEPEST:
                        return _ANYWHERE
        if len(found) > _MOST_NAMES:
            return tuple(f"{folder.rstrip('/')}{TREE}" for folder in _folders_of(tuple(found)[1:]))
        return tuple(found)[1:]

    def _one_step(self, path: str) -> Iterator[str]:
        """Yield the path with one link replaced, in each way that this can be done."""
        for end in _ends(path):
            for target in self._made.get(path[:end], ()):
                yield plain_path(f"{target}{path[end:]}")
        origins = [("", 0)]
        if self._copied:
            origins += [(source, end) for end in _ends(path) for source in self._copied.get(path[:end], ())]
        for source, start in origins:
            link = self._first_link(f"{source}{path[start:]}", len(source))
            if link is not None:
                end, target = link[0] + start - len(source), link[1]
                folder = posixpath.dirname(path[:end])
                yield plain_path(f"{posixpath.join(folder, target)}{path[end:]}")

    def _first_link(self, path: str, start: int) -> tuple[int, str] | None:
        """Return where in a path the first link ends that is there, at ``start`` or later, and what it says."""
        if self._links is not None and self._links(path) != path:
            for end in _ends(path):
                target = self._links.target(path[:end]) if end >= start else ""
                if target:
                    return end, target
        return None


def _ends(path: str) -> Iterator[int]:
    """Yield where the folders of a path end, from the top, and the path itself."""
    end = path.find("/", 1)
    while end != -1:
        yield end
        end = path.find("/", end + 1)
    yield len(path)


def _name(path: str, rest: str) -> str:
    if path.endswith(TREE):
        return f"{PATH}{path}"
    return f"{PATH}{TREE}" if path == "/" and rest == TREE else f"{PATH}{path}{rest}"


def _split(name: str) -> tuple[str, str]:
    """Split the name of a path into the path and what else it says, such as ``/**``."""
    path, rest = folder_and_marks(name.removeprefix(PATH))
    if path.endswith(TREE):
        path, rest = path.removesuffix(TREE) or "/", TREE
    elif rest and "//" in path:  # what stands before is not made
        path, slashes, made = path.partition("//")
        rest = f"{slashes}{made}{rest}"
    return plain_path(path), rest


def _folders_of(targets: Iterable[str]) -> dict[str, None]:
    """Return folders, not many, that have all the targets below them."""
    folders = dict.fromkeys(targets)
    while len(folders) > _MOST_TARGETS:
        folders = dict.fromkeys(posixpath.dirname(target) for target in folders)
    return folders
