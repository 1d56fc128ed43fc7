"""Where paths really lead, through the links that are there while a tree is compiled."""

from __future__ import annotations

import os


class RealPaths:
    """Follows links. Each folder is looked at once: what is asked about later is as it was then."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {"/": "/"}

    def __call__(self, path: str) -> str:
        """Return the path without links in it; one that does not exist as far as it does."""
        folder, name = os.path.split(path.rstrip("/") or "/")
        real = os.path.join(self._folder(folder), name)
        return os.path.realpath(real) if os.path.islink(real) else real

    def _folder(self, folder: str) -> str:
        real = self._folders.get(folder)
        if real is None:
            real = self._folders[folder] = os.path.realpath(folder)
        return real
