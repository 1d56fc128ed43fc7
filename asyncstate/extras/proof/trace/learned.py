"""Learned effects as data: one record for each state with its arguments, in one table of a machine.

A record is valid while the arguments, and the files that are part of the text of the state, are the same: scripts and
programs that it ran, a source that it names, the file of a custom module. Records of several runs of a state add up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from asyncstate.extras.proof.trace.touched import CHANGES, ENSURED, LISTED, MADE, REMOVED, SET, WRITTEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MOST_NAMES = 500
"""The number of names of one kind in a record above which the deepest paths become trees."""
MOST_RECORDS = 5000
_SHALLOWEST = 2
"""The depth up to which folders never become trees: a state that touches so much has no useful record."""


class Effects(msgspec.Struct, frozen=True):
    """Names of resources, as in a footprint."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()

    @classmethod
    def of(cls, touched: Mapping[str, int]) -> Effects | None:
        """Return the names for paths with flags; None if there are too many."""
        reads, writes, makes = [], [], []
        for path, what in touched.items():
            if "#" in path:  # in a resource's name it precedes the name of an entry
                path = f"{path.partition('#')[0].rpartition('/')[0]}/**"
            if what & (WRITTEN | REMOVED | SET) or (what & MADE and not what & ENSURED):
                writes.append(f"path:{path}")
            elif what & ENSURED:
                makes.append(f"path:{path}")
            if what & LISTED:
                reads.append(f"path:{path}/**")
            elif not what & (CHANGES | ENSURED):
                reads.append(f"path:{path}")
        named = [_fewer(names) for names in (reads, writes, makes)]
        if any(names is None for names in named):
            return None
        return cls(*(tuple(names or ()) for names in named))

    def joined(self, other: Effects) -> Effects:
        """Return the union of both."""
        writes = _union(self.writes, other.writes)
        return Effects(
            tuple(name for name in _union(self.reads, other.reads) if name not in writes),
            writes,
            tuple(name for name in _union(self.makes, other.makes) if name not in writes),
        )


class Known(NamedTuple):
    """Learned effects that hold: names as in a footprint, and the paths of programs that the state ran."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    makes: tuple[str, ...]
    programs: tuple[str, ...]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded effects of one state. ``text`` is its command line or its name, without secrets.

    ``inputs`` are digests of files by path, ``programs`` included. ``whole``: the state did its work, and all of it was
    recorded. ``seen`` is in seconds since the epoch.
    """

    function: str
    key: str
    sls: str
    id: str
    text: str
    effects: Effects
    inputs: dict[str, str] = {}
    programs: tuple[str, ...] = ()
    whole: bool = False
    seen: float = 0.0
    runs: int = 1

    def after(self, earlier: Record | None) -> Record:
        """Return this record joined with an earlier one of the same key; one with other inputs is dropped."""
        if earlier is None or earlier.inputs != self.inputs:
            return self
        return msgspec.structs.replace(
            self,
            effects=earlier.effects.joined(self.effects),
            whole=earlier.whole or self.whole,
            runs=earlier.runs + 1,
        )


class Table(msgspec.Struct):
    """The records of a machine, by key."""

    version: int = 1
    records: dict[str, Record] = {}

    def add(self, records: Iterable[Record]) -> None:
        """Add the records of a run. The oldest are dropped if there are more than `MOST_RECORDS`."""
        for record in records:
            self.records[record.key] = record.after(self.records.get(record.key))
        if len(self.records) > MOST_RECORDS:
            kept = sorted(self.records.values(), key=lambda record: -record.seen)[:MOST_RECORDS]
            self.records = {record.key: record for record in kept}


class LearnedEffects:
    """The learned effects of states. ``digest`` returns the present digest of a file, "" if it cannot be read."""

    def __init__(self, table: Table, digest: Callable[[str], str]) -> None:
        self._records = table.records
        self._digest = digest

    def of(self, key: str) -> Known | None:
        """Return the effects of a state by its key, if its record is whole and the files in its text are unchanged."""
        record = self._records.get(key)
        if record is None or not record.whole:
            return None
        unchanged = all(self._digest(path) == digest for path, digest in record.inputs.items())
        seen = record.effects
        return Known(seen.reads, seen.writes, seen.makes, record.programs) if unchanged else None


def _union(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({*one, *other}))


def _fewer(names: list[str]) -> list[str] | None:
    """Return sorted names, the deepest as trees while there are too many; None if that leads too far up."""
    found = set(names)
    while len(found) > MOST_NAMES:
        deepest = max(name.removesuffix("/**").count("/") for name in found)
        if deepest <= _SHALLOWEST:
            return None
        found = {
            f"{name.removesuffix('/**').rpartition('/')[0]}/**"
            if name.removesuffix("/**").count("/") == deepest
            else name
            for name in found
        }
    return sorted(found)
