"""Entries of a file that several states edit: their names as resources, and the places of new ones.

States that touch different entries of a file run in any order. The file still gets the bytes of a serial run: changes
keep the place of an entry, and new entries, which go to the end, are in the serial order of the states that add
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from asyncstate.pattern import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

FOUND_BY_POINT: Final = frozenset({
    "none", "tmpfs", "sysfs", "proc", "fusectl", "debugfs", "securityfs", "devtmpfs", "cgroup",
    "nfs", "nfs4", "glusterfs", "btrfs", "ceph",
})  # fmt: skip
"""Types of file systems whose entry in fstab is identified by the mount point, as several mounts may share a device."""
_QUOTED = lazy_pattern(r"[\x00-\x1f%/#*]|^\.\.?$")


def entry_of(whole: str, *key: object) -> str:
    """Return the resource name of an entry, for a footprint: ``entry_of("path:/etc/hosts", "web")``.

    ``whole`` is the name of the file, or a plain name. Each further part of ``key`` is an entry within the one before.
    Parts may be any text; special characters of resource names are percent-encoded.
    """
    return f"{whole}#{'/'.join(map(_quoted, map(str, key)))}"


def _quoted(part: str) -> str:
    return _QUOTED.sub(lambda found: "".join(f"%{ord(each):02X}" for each in found[0]), part) or "%"


class Additions:
    """The entries that a run has added to a file, each with the serial place of the last state that added it."""

    def __init__(self) -> None:
        self._rank: dict[Hashable, float] = {}

    def place(self, entries: Iterable[Hashable], key: Hashable, rank: float) -> int:
        """Return the index at which a state adds the entry ``key``, and record the addition.

        ``entries`` are the keys of the current lines of the file, in order, with None for a line without an entry.
        ``rank`` is the place of the state in the serial order. The index is that of the first entry added by a later
        state in this run, or the end: so any order of execution gives the file of the serial order, if states with the
        same key run in serial order, and so does each state that touches the whole file with all others.
        """
        place = 0
        for each in entries:
            if self._rank.get(each, rank) > rank:
                break
            place += 1
        self._rank[key] = rank
        return place
