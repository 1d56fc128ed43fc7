"""All knowledge of packages: the database for installed ones, the lists for others."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from asyncstate.data.packages import OF_MANY, UNITS, may_be_named_after_its_package, package_lists, place_of
from asyncstate.errors import CommandExecutionError, PathRefused
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.data.packages import Brings, PackageLists
    from asyncstate.sources.packages.installed import Database, Installed, InstalledPackages

_DATABASES = {
    "Alpine": "/lib/apk/db/installed",
    "Arch": "/var/lib/pacman/local",
    "Debian": "/var/lib/dpkg/status",
    "RedHat": "/var/lib/rpm/rpmdb.sqlite",
    "Suse": "/usr/lib/sysimage/rpm/Packages.db",
}
"""The families of systems, and a file or folder that changes with the database of each."""


class _Both(Value):
    """The contents of an installed package by the list, which makes them lasting, and by the database."""

    listed: Brings
    brought: Installed
    lasting: bool = True
    installed: bool = True

    @property
    def packages(self) -> frozenset[str]:
        """The names of the package and its dependencies."""
        return self.listed.packages

    @property
    def places(self) -> frozenset[str]:
        """The places of both."""
        return self.listed.places | self.brought.places

    @property
    def accounts(self) -> bool:
        """Whether it makes accounts, by either."""
        return self.listed.accounts or self.brought.accounts

    def has(self, place: str) -> bool:
        """Whether it has files at a place, by either."""
        return place in self.brought.places or self.listed.has(place)

    def runs(self, program: str) -> bool:
        """Whether it brings a program, by either."""
        return self.listed.runs(program) or self.brought.runs(program)

    def named(self, name: str) -> bool:
        """Whether it has a name that resembles this one, by either."""
        return self.listed.named(name) or self.brought.named(name)


class KnownPackages:
    """The knowledge of packages of a machine. The database is opened for the first package, not before."""

    def __init__(self, lists: PackageLists | None, installed: Callable[[], InstalledPackages | None]) -> None:
        self._lists = lists
        self._installed = installed

    def brings(self, package: str) -> Brings | None:
        """Return the contents of a package with its dependencies, or None if unknown."""
        listed = self._lists.brings(package) if self._lists is not None else None
        database = self._installed()
        installed = database.brings(package) if database is not None else None
        if listed is not None and installed is not None:
            return _Both(listed, installed)
        return listed or installed

    def implied(self, name: str) -> frozenset[str]:
        """Return the installed packages that a package depends on, or that stand for a name which is no package's."""
        database = self._installed()
        return frozenset() if database is None else database.implied(name)

    def place(self, path: str) -> str | None:
        """Return the place of a path, or None if the packages with files there cannot be known."""
        if self._lists is not None:
            return self._lists.place(path)
        place = place_of(path)
        settled = place in {UNITS, "/opt"} or may_be_named_after_its_package(path, place)
        return place if place and settled else None

    def of_many(self, place: str) -> bool:
        """Whether a place is an existing folder in which many packages have files, each its own."""
        return place in OF_MANY and os.path.isdir(place)


def known_packages(os_family: str) -> KnownPackages | None:
    """Return the knowledge of packages for a family of systems; None for an unknown family."""
    lists = package_lists(os_family)
    if os_family not in _DATABASES:
        return None
    return KnownPackages(lists, lambda: _opened(os_family, _version(_DATABASES[os_family])))


def _version(path: str) -> tuple[int, ...]:
    """Return a value that changes with a file or the entries of a folder; empty if it does not exist.

    For SQLite, it covers the write-ahead log.
    """
    found: list[int] = []
    for each in (path, f"{path}-wal"):
        try:
            state = os.stat(each)
        except OSError:
            continue
        found += (state.st_mtime_ns, state.st_size, state.st_ino)
    return tuple(found)


@lru_cache(maxsize=4)
def _opened(os_family: str, version: tuple[int, ...]) -> InstalledPackages | None:
    """Return the packages installed on this machine; None if the database cannot be read."""
    if not version:
        return None
    from asyncstate.sources.packages.installed import InstalledPackages  # noqa: PLC0415 - few trees name packages

    try:
        return InstalledPackages(_database(os_family))
    except (CommandExecutionError, OSError, PathRefused):
        return None


def _database(os_family: str) -> Database:
    """Return the database of a family of systems. Raises CommandExecutionError, OSError, PathRefused."""
    match os_family:
        case "Alpine":
            from asyncstate.sources.packages.apk import Apk  # noqa: PLC0415 - a machine has one database

            return Apk()
        case "Arch":
            from asyncstate.sources.packages.pacman import Pacman  # noqa: PLC0415 - as above

            return Pacman()
        case "Debian":
            from asyncstate.sources.packages.dpkg import Dpkg  # noqa: PLC0415 - as above

            return Dpkg()
        case _:
            from asyncstate.sources.packages.rpm import Rpm  # noqa: PLC0415 - as above

            return Rpm()
