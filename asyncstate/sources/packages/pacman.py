"""The database of pacman: ``/var/lib/pacman/local``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from asyncstate import filesystem
from asyncstate.sources.packages.installed import MAKE_ACCOUNTS

if TYPE_CHECKING:
    from collections.abc import Iterator

_BARE = re.compile(r"[^<>=: ]+")


class Pacman:
    """The packages installed by pacman. Raises OSError without its database."""

    def __init__(self, folder: str = "/var/lib/pacman/local") -> None:
        entries = [entry for entry in filesystem.listdir(folder) if entry.count("-") > 1]
        self._folders = {entry.rsplit("-", 2)[0]: f"{folder}/{entry}" for entry in entries}
        self._provided: dict[str, list[str]] | None = None

    def needs(self, name: str, *, recommended: bool = True) -> list[str] | None:  # noqa: ARG002 - there are none
        """Return the installed packages that one depends on; None if it is not installed."""
        if name not in self._folders:
            return None
        found = []
        for line in self._section(name, "desc", "DEPENDS"):
            needed = _bare(line)
            found += [needed] if needed in self._folders else self.providers(needed)
        return found

    def paths(self, name: str) -> Iterator[str]:
        """Yield the files and folders of a package."""
        yield from (f"/{path}".rstrip("/") for path in self._section(name, "files", "FILES"))

    def makes_accounts(self, name: str) -> bool:
        """Whether the script of a package makes accounts."""
        script = self._text(name, "install")
        return any(word in script for word in MAKE_ACCOUNTS)

    def providers(self, name: str) -> list[str]:
        """Return the installed packages that provide a name."""
        if self._provided is None:
            self._provided = {}
            for package in self._folders:
                for line in self._section(package, "desc", "PROVIDES"):
                    self._provided.setdefault(_bare(line), []).append(package)
        return self._provided.get(name, [])

    def _section(self, name: str, file: str, title: str) -> list[str]:
        """Return the lines below ``%TITLE%``."""
        _, found, rest = f"\n{self._text(name, file)}\n\n".partition(f"\n%{title}%\n")
        return rest.split("\n\n", 1)[0].split("\n") if found else []

    def _text(self, name: str, file: str) -> str:
        try:
            return filesystem.read_bytes(f"{self._folders[name]}/{file}").decode(errors="replace")
        except FileNotFoundError:
            return ""


def _bare(line: str) -> str:
    """Return the name in ``name>=1.2``."""
    found = _BARE.match(line)
    return found[0] if found is not None else ""
