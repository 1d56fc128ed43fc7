"""Files, programs and accounts of installed packages, by the database of the package manager."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Protocol

from asyncstate.data.packages import last_name, place_of, whole_words_of, words_of
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PROGRAMS = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/")
_SYSUSERS = ("/usr/lib/sysusers.d/", "/etc/sysusers.d/")
MAKE_ACCOUNTS = ("useradd", "adduser", "groupadd", "addgroup", "sysusers")
"""Matches the scripts of packages that make accounts."""


class Database(Protocol):
    """The packages that are installed on a machine."""

    def needs(self, name: str, /, *, recommended: bool = True) -> Iterable[str] | None:
        """Return the installed packages that one depends on, or recommends; None if it is not installed."""

    def providers(self, name: str, /) -> Iterable[str]:
        """Return the installed packages that provide a name which is not their own."""

    def paths(self, name: str, /) -> Iterable[str]:
        """Yield the files and folders of an installed package; libraries and texts may be left out."""

    def makes_accounts(self, name: str, /) -> bool:
        """Whether the scripts of an installed package make accounts."""


class Installed(Value):
    """The contents of an installed package and its dependencies.

    ``lasting`` is False: another version may bring more.
    """

    places: frozenset[str]
    programs: frozenset[str]
    words: frozenset[str]
    whole_words: frozenset[str]
    accounts: bool
    lasting: bool = False
    installed: bool = True
    packages: frozenset[str] = frozenset()

    def has(self, place: str) -> bool:
        """Whether it has files at a place, or its scripts may have made a place of that name."""
        return place in self.places or not words_of(last_name(place)).isdisjoint(self.words)

    def runs(self, program: str) -> bool:
        """Whether it has brought a program."""
        return program in self.programs

    def named(self, name: str) -> bool:
        """Whether one of its names resembles a name."""
        return not whole_words_of(name).isdisjoint(self.whole_words)


class InstalledPackages:
    """The contents of installed packages. The files of a package are read on request."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, Installed | None] = {}
        self._parts: dict[str, Installed] = {}

    def brings(self, package: str) -> Installed | None:
        """Return the contents of a package with its dependencies, or None if it is not installed."""
        if package not in self._known:
            self._known[package] = self._found(package)
        return self._known[package]

    def implied(self, name: str) -> frozenset[str]:
        """Return the installed packages that a package depends on, or that stand for a name which is no package's."""
        own = self._database.needs(name) is not None
        tops = (name,) if own else self._database.providers(name.partition(":")[0])
        parts = (each for top in tops for each in _with_all_needed(self._database, top, recommended=False))
        return frozenset(parts) - {name}

    def _found(self, package: str) -> Installed | None:
        if self._database.needs(package) is None:
            return None
        parts = [self._part(name) for name in _with_all_needed(self._database, package, recommended=True)]
        return Installed(
            frozenset().union(*(part.places for part in parts)),
            frozenset().union(*(part.programs for part in parts)),
            frozenset().union(*(part.words for part in parts)),
            frozenset().union(*(part.whole_words for part in parts)),
            any(part.accounts for part in parts),
        )

    def _part(self, name: str) -> Installed:
        """Return the contents of a package without dependencies."""
        part = self._parts.get(name)
        if part is None:
            paths = list(self._database.paths(name))
            places = frozenset(filter(None, map(place_of, paths)))
            programs = frozenset(posixpath.basename(path) for path in paths if path.startswith(_PROGRAMS))
            names = (name, *map(last_name, places))
            words, whole = (frozenset(word for each in names for word in of(each)) for of in (words_of, whole_words_of))
            accounts = any(path.startswith(_SYSUSERS) for path in paths) or self._database.makes_accounts(name)
            part = self._parts[name] = Installed(places, programs, words, whole, accounts)
        return part


def _with_all_needed(database: Database, package: str, *, recommended: bool) -> Iterator[str]:
    found = {package}
    waiting = [package]
    while waiting:
        name = waiting.pop()
        yield name
        for needed in database.needs(name, recommended=recommended) or ():
            if needed not in found:
                found.add(needed)
                waiting.append(needed)
