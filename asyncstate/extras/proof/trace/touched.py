"""Accesses of a state to each path: flags, and the rules by which they add up."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

LOOKED: Final = 1
"""Its content, its attributes or its existence was read."""
ABSENT: Final = 2
"""It was looked for, and was not there."""
LISTED: Final = 4
"""The names in this folder were read."""
WRITTEN: Final = 8
"""Its content or its attributes were written."""
NAMED: Final = 16
"""The write may have made it: whether it existed before is not known."""
MADE: Final = 32
"""It was not there, and was made."""
ENSURED: Final = 64
"""A folder that would have been made if it had been missing, as ``mkdir -p`` does."""
REMOVED: Final = 128
"""It was removed, or renamed to something else."""

MOST_PATHS = 200_000
"""The number of paths of one state that are kept in memory. The record of a state that touches more is not whole."""

SET: Final = 256
"""A folder that the state ensures got a mode or an owner, which are in `Touched.marks`."""

CHANGES: Final = WRITTEN | MADE | REMOVED | SET
"""The flags of a changed path."""


class Touched:
    """The paths that one state touched, with flags. ``is_shared`` decides which paths count: see `noise`.

    Paths that a state makes and removes again, such as temporary files, are left out, with everything below. Folders
    among them are in ``temporary``: two states may choose the same name. ``marks`` has for ensured folders the mode at
    creation (``made 0755``), the mode set by their maker (``first 0750``), and modes and owners set by others (``mode
    0750``, ``owner 0 0``).
    """

    __slots__ = ("_gone", "_is_shared", "flags", "marks", "temporary", "unseen")

    def __init__(self, is_shared: Callable[[str], bool] = lambda _path: True) -> None:
        self.flags: dict[str, int] = {}
        self.unseen: dict[str, None] = {}
        """Programs that could not be followed, so their accesses are unknown."""
        self.marks: dict[str, set[str]] = {}
        self.temporary: dict[str, int] = {}
        self._is_shared = is_shared
        self._gone: set[str] = set()

    def note(self, path: str, what: int, mark: str = "") -> None:
        """Note that an absolute path was touched. Parts like ``..`` and ``//`` are resolved by name alone.

        ``mark`` is the mark of a folder that was ensured or set; see `marks`.
        """
        if "/." in path or "//" in path or path[-1:] == "/":
            path = posixpath.normpath(path)
        if path[:2] == "//":
            path = path[1:]
        known = self.flags.get(path)
        if mark:
            if what == WRITTEN and known is not None and known & ENSURED:
                what = SET
            if what & (ENSURED | SET):
                self.marks.setdefault(path, set()).add(mark)
        if known is None:
            if path[:1] == "/" and self._is_shared(path):
                if len(self.flags) < MOST_PATHS:
                    self.flags[path] = what
                else:
                    self.unseen[f"more than {MOST_PATHS:,} paths"] = None
        elif what & REMOVED and known & MADE:
            del self.flags[path]
            self._gone.add(path)
            if known & ENSURED:
                self.temporary[path] = MADE | REMOVED
        else:
            self.flags[path] = known | what

    def seen(self) -> dict[str, int]:
        """Return the flags by path, without paths below a folder that the state made and removed."""
        gone = {path for path in self._gone if path not in self.flags}
        if not gone:
            return dict(self.flags)
        return {path: what for path, what in self.flags.items() if gone.isdisjoint(above(path))}

    def seen_by_others(self) -> dict[str, int]:
        """Return the flags of `seen` and of temporary folders, which other states may have seen."""
        temporary = {path: what for path, what in self.temporary.items() if path not in self.flags}
        return {**self.seen(), **temporary} if temporary else self.seen()


def above(path: str) -> list[str]:
    """Return the folders above an absolute path, the nearest first, without ``/``."""
    found = []
    at = path.rfind("/")
    while at > 0:
        found.append(path[:at])
        at = path.rfind("/", 0, at)
    return found
