"""Where paths really lead, through the links that are there while a tree is compiled."""

from __future__ import annotations

import os


class RealPaths:
    """Follows links. Each path is looked at once: what is asked about again is as it was the first time."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {"": "/", "/": "/"}

    def __call__(self, path: str) -> str:
        """Return an absolute path without links in it; one that does not exist as far as it does."""
        unknown = []
        above = path
        while above not in self._known:
            unknown.append(above)
            above = above.rpartition("/")[0]
        for below in reversed(unknown):
            folder, _, name = below.rpartition("/")
            real = f"{self._known[folder].rstrip('/')}/{name}" if name else self._known[folder]
            self._known[below] = os.path.realpath(real) if os.path.islink(real) else real
        return self._known[path]
