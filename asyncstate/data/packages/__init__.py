"""What is known of packages before they are installed: where they have files in ``/etc`` and ``/var``.

``debian.txt`` is made of the archive's own lists of contents and dependencies. It holds for what a package brings with
all that it depends on or recommends; what only a maintainer script makes is in no list, so a place that no list
names may be any package's.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

_TABLES = {"Debian": "debian.txt"}


class Brings(NamedTuple):
    """What a package brings: the ``places`` where it has files, such as ``/etc/nginx/``; whether it makes accounts."""

    places: frozenset[str]
    accounts: bool


class PackageLists:
    """What the packages of one family of systems bring."""

    def __init__(self, table: str) -> None:
        places, _, packages = table.partition("\n\n")
        self._places = [line for line in places.split("\n") if line.startswith("/")]
        self._known = frozenset(self._places)
        self._lines = {}
        for line in packages.splitlines():
            name, _, numbers = line.partition(" ")
            self._lines[name.removesuffix("*")] = (numbers, name.endswith("*"))

    def brings(self, package: str) -> Brings | None:
        """Return what a package brings, or None if it is not known. An architecture may follow the name: ``a:i386``."""
        line = self._lines.get(package.partition(":")[0])
        if line is None:
            return None
        numbers, accounts = line
        return Brings(frozenset(self._places[int(number)] for number in numbers.split()), accounts)

    def place(self, path: str) -> str | None:
        """Return the place of a path in ``/etc`` or ``/var``, or None if no package is known to have files there."""
        if path in self._known:
            return path
        parts = path.split("/")
        for depth in (4, 3):
            folder = "/".join(parts[:depth]) + "/"
            if len(parts) >= depth and folder in self._known:
                return folder
        return None


@cache
def package_lists(os_family: str) -> PackageLists | None:
    """Return what is known of the packages of systems like this one (the grain ``os_family``), or None."""
    name = _TABLES.get(os_family)
    return None if name is None else PackageLists(files(__name__).joinpath(name).read_text())
