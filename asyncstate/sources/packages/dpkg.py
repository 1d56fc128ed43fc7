"""The database of dpkg: ``/var/lib/dpkg``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from asyncstate import filesystem
from asyncstate.sources.packages.installed import MAKE_ACCOUNTS

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = re.compile(r"^Package: (\S+)$", re.MULTILINE)
_INSTALLED = re.compile(r"^Status: \S+ \S+ (?!not-installed|config-files)\S+$", re.MULTILINE)
_NEEDED = re.compile(r"^(?:Pre-Depends|Depends): (.+)$", re.MULTILINE)
_RECOMMENDED = re.compile(r"^Recommends: (.+)$", re.MULTILINE)
_PROVIDES = "\nProvides: "
"""Found in a fifth of the time of the expression, and in few stanzas."""
_PROVIDED = re.compile(r"^Provides: (.+)$", re.MULTILINE)
_ARCHITECTURE = re.compile(r"^Architecture: (\S+)$", re.MULTILINE)
_PATHS = re.compile(
    r"^/(?:etc|opt|run|srv|var|s?bin|lib/systemd|usr/lib/systemd|usr/lib/sysusers\.d|usr/s?bin)(?:/.*)?$", re.MULTILINE
)
"""The relevant paths; most others are documentation, libraries and translations."""

_NAMES = re.compile(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]*)")


class Dpkg:
    """The packages installed by dpkg. Raises OSError without its database."""

    def __init__(self, folder: str = "/var/lib/dpkg") -> None:
        self._folder = folder
        self._files = frozenset(filesystem.listdir(f"{folder}/info"))
        self._stanzas: dict[str, str] = {}
        self._provided: dict[str, list[str]] = {}
        for stanza in _text(f"{folder}/status").split("\n\n"):
            name = _NAME.search(stanza)
            if name is not None and _INSTALLED.search(stanza) is not None:
                self._stanzas[name[1]] = stanza
                for line in _PROVIDED.findall(stanza) if _PROVIDES in stanza else ():
                    for virtual in _NAMES.findall(line):
                        self._provided.setdefault(virtual, []).append(name[1])

    def needs(self, name: str, *, recommended: bool = True) -> list[str] | None:
        """Return the installed packages that one depends on or recommends; None if it is not installed."""
        stanza = self._stanzas.get(name.partition(":")[0])
        if stanza is None:
            return None
        lines = _NEEDED.findall(stanza) + (_RECOMMENDED.findall(stanza) if recommended else [])
        names = [each for line in lines for each in _NAMES.findall(line)]
        real = [each for name in names for each in (name, *self._provided.get(name, ()))]
        return [each for each in dict.fromkeys(real) if each in self._stanzas]

    def providers(self, name: str) -> list[str]:
        """Return the installed packages that provide a name."""
        return self._provided.get(name, [])

    def paths(self, name: str) -> Iterator[str]:
        """Yield the files and folders of a package, with its configuration but without libraries and texts."""
        yield from _PATHS.findall(self._info(name, "list"))

    def makes_accounts(self, name: str) -> bool:
        """Whether a script of a package makes accounts."""
        script = self._info(name, "postinst") + self._info(name, "preinst")
        return any(word in script for word in MAKE_ACCOUNTS)

    def _info(self, name: str, kind: str) -> str:
        """Return the text of a metadata file of a package, whose name may contain the architecture; "" if missing."""
        name = name.partition(":")[0]
        file = f"{name}.{kind}"
        if file not in self._files:
            architecture = _ARCHITECTURE.search(self._stanzas[name])
            file = f"{name}:{architecture[1]}.{kind}" if architecture is not None else file
        return _text(f"{self._folder}/info/{file}") if file in self._files else ""


def _text(path: str) -> str:
    return filesystem.read_bytes(path).decode(errors="replace")
