"""In what two applies of one highstate differ: rows, packages, files."""

from __future__ import annotations

import difflib
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate.extras.proof.shake.outcome import Entry
from throwaway.runs import NOT_COMPARED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from throwaway.runs import Run

_NOT_OF_THE_STATE = frozenset({"pid"})
"""Keys of changes that are another number each time."""


_DATED = re.compile(r"# \(.* installed on .*\)$")
"""The line in which a crontab says when it was installed."""


class _Lines(NamedTuple):
    different: list[str]
    only_moved: bool


class Likeness(NamedTuple):
    """What two applies have in common, and the differences of each kind, a line each."""

    states: int
    same_comments: int
    rows: list[str]
    packages: list[str]
    paths: list[str]
    orders: list[str]
    """Files whose lines are the same, in another order: of accounts, in which it says nothing."""

    def __str__(self) -> str:
        found = ((self.rows, "row"), (self.packages, "package"), (self.paths, "path"))
        different = [f"{len(lines)} {what}{'s' if len(lines) > 1 else ''} differ" for lines, what in found if lines]
        comments = f"{self.same_comments} of {self.states} comments the same"
        orders = [f"lines in another order: {', '.join(self.orders)}"] if self.orders else []
        return "; ".join([", ".join(different) or "same rows, packages and files", *orders, comments])

    @property
    def lines(self) -> list[str]:
        """All differences."""
        return [*self.rows, *self.packages, *self.paths]


def compare(one: Run, other: Run, *, whole_changes: bool) -> Likeness:
    """Compare two applies: rows by result and changes, packages by version, files by content, mode and owner.

    ``whole_changes`` compares what the changes say; without it only their keys, for tools that word them differently.
    """
    tags = one.rows.keys() | other.rows.keys()
    same = sum(1 for tag in tags if _comment(one, tag) == _comment(other, tag))
    rows = [line for tag in sorted(tags) for line in _row(tag, one, other, whole_changes=whole_changes)]
    packages = [f"package {line}" for line in _entries(one.packages, other.packages)]
    texts = {path: _lines(one.texts[path], other.texts[path]) for path in one.texts.keys() & other.texts.keys()}
    paths = list(_entries(_without(one.paths, texts), _without(other.paths, texts)))
    paths += [f"line of {path}: {line}" for path in sorted(texts) for line in texts[path].different]
    orders = [path for path in sorted(texts) if texts[path].only_moved]
    return Likeness(len(tags), same, rows, packages, paths, orders)


def _comment(run: Run, tag: str) -> Any:
    return run.rows.get(tag, {}).get("comment")


def _row(tag: str, one: Run, other: Run, *, whole_changes: bool) -> Iterator[str]:
    first, second = one.rows.get(tag), other.rows.get(tag)
    if first is None or second is None:
        yield f"{tag}: {'only the second' if first is None else 'only the first'} has this row"
        return
    if first["result"] != second["result"]:
        yield f"{tag}: result {first['result']}, {second['result']}: {first['comment']!r}, {second['comment']!r}"
    changes = [_changes(row, whole=whole_changes) for row in (first, second)]
    if changes[0] != changes[1]:
        yield f"{tag}: changes {changes[0]!r}, {changes[1]!r}"


def _changes(row: Mapping[str, Any], *, whole: bool) -> Any:
    changes = row["changes"]
    if not isinstance(changes, dict):
        return changes
    kept = {key: value for key, value in changes.items() if key not in _NOT_OF_THE_STATE}
    return kept if whole else sorted(kept)


def _entries(one: Mapping[str, object], other: Mapping[str, object]) -> Iterator[str]:
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name) or (name in one) != (name in other):
            yield f"{name}: {_shown(one, name)}, {_shown(other, name)}"


def _lines(one: str, other: str) -> _Lines:
    first, second = ([line for line in text.splitlines() if not _DATED.match(line)] for text in (one, other))
    if first != second and sorted(first) == sorted(second):
        return _Lines([], only_moved=True)
    return _Lines([line for line in difflib.ndiff(first, second) if line[0] in "+-"], only_moved=False)


def _without(paths: Mapping[str, object], texts: Mapping[str, object]) -> dict[str, object]:
    """Return the paths that count, without those of which the lines are compared."""
    return {path: entry for path, entry in paths.items() if path not in texts and not _ignored(path)}


def _shown(entries: Mapping[str, object], name: str) -> str:
    found = entries.get(name, "not changed")
    if isinstance(found, Entry):
        return f"{found.kind} {found.mode:o} {found.user}:{found.group} {found.content[:12]}"
    return "absent" if found is None else str(found)


def _ignored(path: str) -> bool:
    return any(fnmatchcase(path, glob) for glob in NOT_COMPARED)
