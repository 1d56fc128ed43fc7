"""Resources by name: paths, which are hierarchical, plain names, and entries of either.

``path:/etc/hosts#web`` is an entry of a file, and ``grains#roles`` one of a plain name. Two entries do not conflict.
An entry conflicts with the whole, even where the whole is only read or only written, and with the entries within it:
``a`` with ``a/b``, one level of an entry for each slash. So a file whose own name has a ``#`` conflicts with the file
that is called like the part before it; it waits more than it has to, and never less.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from asyncstate.pattern import lazy_pattern
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PATH = "path:"
ENVIRONMENT = "environ:process"
TREE = "/**"
ENTRY = "#"
"""The separator of a file, or a plain name, from the key of an entry."""
_MARKS = lazy_pattern(r"\?[^/?]*:[^/?]*:[^/?]*")

ALWAYS_THERE = """
    / /boot /etc /etc/default /home /media /mnt /opt /root /run /srv /tmp /usr /usr/bin /usr/lib /usr/local
    /usr/local/bin /usr/local/lib /usr/local/sbin /usr/sbin /usr/share
    /var /var/cache /var/lib /var/log /var/spool /var/tmp
""".split()
"""Folders that every system has. A state with a file in one of them does not wait for states that may make it."""


def plain_path(path: str) -> str:
    """Return the spelling of a path that all its spellings share; other names as they are."""
    if not path.startswith("/"):
        return path
    return posixpath.normpath(f"/{path.lstrip('/')}") if "//" in path or "/." in path or path[-1] == "/" else path


def folders_above(path: str) -> Iterator[str]:
    """Yield the folders that a path is in, without the root."""
    while path := path.rpartition("/")[0].rstrip("/"):
        yield path


class Proof(Value):
    """The node that shows that a folder is there, and the number of its touch.

    ``marks`` are None if the node did not make the folder; ``needs`` says whether it needed it.
    """

    node: int
    touch: int
    marks: str | None
    needs: bool


class Place:
    """A path, a plain name, or an entry of either.

    ``users`` are the nodes that used it or something below since it was last written: ``writers_below`` wrote below
    it, ``entry_writers`` wrote one of its entries, ``readers`` read it as a whole. ``tree_writer`` and ``tree_readers``
    touched everything below it, ``makers`` made the folder if it was missing, each with the same ``marks``, after
    ``other_makers`` with other marks; ``needers`` needed it. A ``lasting`` place is never missing. ``beside`` are nodes
    that touched a plain name before ``writer``, which did not wait for them. ``written_at`` is the number of the touch
    that wrote the place last, 0 if none did; the ``proof`` holds if no place at or above it was written later.
    """

    __slots__ = (
        "beside",
        "children",
        "entry_writers",
        "is_entry",
        "lasting",
        "makers",
        "marks",
        "name",
        "needers",
        "other_makers",
        "proof",
        "readers",
        "tree_readers",
        "tree_writer",
        "users",
        "writer",
        "writers_below",
        "written_at",
    )

    def __init__(self, name: str, *, is_entry: bool = False, lasting: bool = False) -> None:
        self.name: str = name
        self.proof: Proof | None = None
        self.written_at: int = 0
        self.is_entry: bool = is_entry
        self.children: dict[str, Place] = {}
        self.writer: int = -1
        self.beside: list[int] = []
        self.users: list[int] = []
        self.readers: list[int] = []
        self.writers_below: list[int] = []
        self.entry_writers: list[int] = []
        self.tree_writer: int = -1
        self.tree_readers: list[int] = []
        self.makers: list[int] = []
        self.marks: str = ""
        self.other_makers: list[int] = []
        self.needers: list[int] = []
        self.lasting: bool = lasting


Access = tuple[list[Place], bool, bool]
"""The places from the root or the plain name down; whether the last means all below it; whether it is written."""


class Resources:
    """Everything that was touched, by name."""

    def __init__(self) -> None:
        self._names: dict[str, Place] = {}
        self._root: Place = Place(f"{PATH}/")
        self._folders: dict[str, list[Place]] = {"": [self._root]}
        """The places down to the folders whose files were asked for, by path."""
        for path in ALWAYS_THERE:
            self.places(path)[-1].lasting = True

    def placed(self, reads: Iterable[str], writes: Iterable[str]) -> list[Access]:
        """Return the accesses to what is read and written; what is both is only written."""
        written = dict.fromkeys(writes)
        accesses = [(name, False) for name in dict.fromkeys(reads) if name not in written]
        accesses += [(name, True) for name in written]
        return [
            (self.places(name[len(PATH) :]), name.endswith(TREE), writes_it)
            if name.startswith(PATH)
            else (self._named(name), False, writes_it)
            for name, writes_it in accesses
        ]

    def places(self, path: str) -> list[Place]:
        """Return the places from the root down to a path, or to an entry of a file."""
        path = path.removesuffix("**")
        if "/." in path or path.startswith("."):
            path = posixpath.normpath("/" + path)
        folder, _, part = path.rpartition("/")
        above = self._folders.get(folder)
        if above is None:
            above = [self._root]
            for each in folder.split("/"):
                self._add_part(above, each)
            self._folders[folder] = above
        places = above.copy()
        self._add_part(places, part)
        return places

    def _add_part(self, places: list[Place], part: str) -> None:
        """Append the place of one part of a path, and of the entry in it, to the places of the folder."""
        if not part:
            return
        place = places[-1]
        file, _, entry = part.partition(ENTRY)
        if place.is_entry or not (file and entry):
            file, entry = part, ""
        below = place.children.get(file)
        if below is None:
            name = f"{place.name}{file}" if place is self._root else f"{place.name}/{file}"
            below = place.children[file] = Place(name, is_entry=place.is_entry)
        places.append(below)
        if entry:
            places.append(self._entry(below, entry))

    def _named(self, name: str) -> list[Place]:
        """Return the place of a plain name; for an entry, the places of the name and of the enclosing entries, too."""
        place = self._names.get(name)
        if place is not None:
            return [place]
        whole, _, entry = name.partition(ENTRY)
        if not (whole and entry):
            place = self._names[name] = Place(name, lasting=True)
            return [place]
        places = self._named(whole)
        for part in entry.split("/"):
            places.append(self._entry(places[-1], part))
        return places

    def _entry(self, place: Place, name: str) -> Place:
        mark = "/" if place.is_entry else ENTRY
        entry = place.children.get(mark + name)
        if entry is None:
            entry = place.children[mark + name] = Place(f"{place.name}{mark}{name}", is_entry=True)
        return entry

    def tree(self, place: Place) -> str:
        """Return the name of everything at and below a path; an entry stands for all within it by its own name."""
        if place.is_entry:
            return place.name
        return f"{PATH}{TREE}" if place is self._root else f"{place.name}{TREE}"


def folder_and_marks(name: str) -> tuple[str, str]:
    """Split the name of a made folder into the folder and its marks, "" if it has none."""
    match = _MARKS.search(name) if "?" in name else None
    return (name[: match.start()], match[0]) if match is not None and match.end() == len(name) else (name, "")


def whole_of(places: list[Place]) -> Place:
    """Return the file, or the plain name, whose entry the last of the places is."""
    return next(place for place in reversed(places) if not place.is_entry)


def is_plain(places: list[Place]) -> bool:
    """Whether the places belong to a plain name without an entry."""
    return len(places) == 1 and not places[0].name.startswith(PATH)
