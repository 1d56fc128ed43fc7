"""The database of apk: ``/lib/apk/db/installed``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from asyncstate import filesystem

if TYPE_CHECKING:
    from collections.abc import Iterator

_BARE = re.compile(r"[^<>=~]+")


class Apk:
    """The packages installed by apk. Raises OSError without its database.

    Its scripts are in an archive that is not read; any may make accounts.
    """

    def __init__(self, file: str = "/lib/apk/db/installed") -> None:
        self._records: dict[str, list[str]] = {}
        self._provided: dict[str, list[str]] = {}
        for record in filesystem.read_bytes(file).decode(errors="replace").split("\n\n"):
            lines = record.split("\n")
            name = next((line[2:] for line in lines if line.startswith("P:")), "")
            if name:
                self._records[name] = lines
                for provided in _words(lines, "p:"):
                    self._provided.setdefault(provided, []).append(name)

    def needs(self, name: str, *, recommended: bool = True) -> list[str] | None:  # noqa: ARG002 - there are none
        """Return the installed packages that one depends on; None if it is not installed."""
        if name not in self._records:
            return None
        found = []
        for needed in _words(self._records[name], "D:"):
            found += [needed] if needed in self._records else self._provided.get(needed, [])
        return found

    def providers(self, name: str) -> list[str]:
        """Return the installed packages that provide a name."""
        return self._provided.get(name, [])

    def paths(self, name: str) -> Iterator[str]:
        """Yield the files and folders of a package."""
        folder = ""
        for line in self._records[name]:
            if line.startswith("F:"):
                folder = f"/{line[2:]}".rstrip("/")
                yield folder
            elif line.startswith("R:"):
                yield f"{folder}/{line[2:]}"

    def makes_accounts(self, name: str) -> bool:
        """Whether a script of a package may make accounts."""
        return name in self._records


def _words(lines: list[str], mark: str) -> list[str]:
    """Return the names after a mark, without versions and without conflicting packages."""
    words = [word for line in lines if line.startswith(mark) for word in line[2:].split()]
    return [found[0] for found in map(_BARE.match, words) if found is not None and not found[0].startswith("!")]
