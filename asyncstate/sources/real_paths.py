"""Resolves symbolic links in paths, as they are while a tree is compiled."""

from __future__ import annotations

import os


class RealPaths:
    """Resolves symbolic links. Each path is read once, and the same result is returned every time."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {"": "/", "/": "/"}
        self._targets: dict[str, str] = {}

    def __call__(self, path: str) -> str:
        """Return an absolute path with its links resolved; the part that does not exist stays as it is."""
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

    def target(self, path: str) -> str:
        """Return what a link says, relative or absolute; "" for anything that is no link."""
        known = self._targets.get(path)
        if known is None:
            try:
                known = os.readlink(path)
            except (OSError, ValueError):
                known = ""
            self._targets[path] = known
        return known
