"""Entries of a file that several states share: their names as resources, and the places of new ones.

States that touch different entries of a file run in any order. The file still gets the bytes of a serial run: entries
that are changed or removed stay where they are, and new ones, which go to the end, stand there in the serial order of
the states that added them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

FOUND_BY_POINT: Final = frozenset({
    "none", "tmpfs", "sysfs", "proc", "fusectl", "debugfs", "securityfs", "devtmpfs", "cgroup",
    "nfs", "nfs4", "glusterfs", "btrfs", "ceph",
})  # fmt: skip
"""Types of file systems whose entry in fstab is found by its mount point, as several mounts may share their device."""
_QUOTED = re.compile(r"[\x00-\x1f%/#*]|^\.\.?$")


def entry_of(whole: str, *key: object) -> str:
    """Return the resource name of an entry, for a footprint: ``entry_of("path:/etc/hosts", "web")``.

    ``whole`` is the name of the file, or a plain name. Each further part of ``key`` is an entry within the one before.
    Parts may be any texts; what has a meaning in resource names is written as in a URL.
    """
    return f"{whole}#{'/'.join(map(_quoted, map(str, key)))}"


def _quoted(part: str) -> str:
    return _QUOTED.sub(lambda found: "".join(f"%{ord(each):02X}" for each in found[0]), part) or "%"


class Additions:
    """The entries that a run has added to a file, each with the serial place of the state that added it last."""

    def __init__(self) -> None:
        self._rank: dict[Hashable, float] = {}

    def place(self, entries: Iterable[Hashable], key: Hashable, rank: float) -> int:
        """Return the index at which a state adds the entry ``key``, and note that it does.

        ``entries`` are the keys of what the file holds now, in its order, with None for what is no entry. ``rank`` is
        the place of the state in the serial order. The index is that of the first entry that a later state has added
        during this run, or the end: so in any order of execution the file becomes what it becomes in serial order, if
        states with the same key run in serial order, and so do states of which one touches the whole file.
        """
        place = 0
        for each in entries:
            if self._rank.get(each, rank) > rank:
                break
            place += 1
        self._rank[key] = rank
        return place
