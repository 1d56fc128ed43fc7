"""Resolution of symbolic links in paths at the time of compilation."""

from __future__ import annotations

import os


class RealPaths:
    """Resolves symbolic links. Each path is resolved once; later calls return the same result."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {"": "/", "/": "/"}
        self._targets: dict[str, str] = {}

    def __call__(self, path: str) -> str:
        """Return an absolute path with its links resolved; a part that does not exist stays unchanged."""
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
        """Return the text of a link, relative or absolute; "" for anything else."""
        known = self._targets.get(path)
        if known is None:
            try:
                known = os.readlink(path)
            except (OSError, ValueError):
                known = ""
            self._targets[path] = known
        return known
