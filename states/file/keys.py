"""``file.keyvalue``: values in a file of ``key = value`` lines."""

from __future__ import annotations

import os
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import Row, changed, failed, is_dry_run, make_row, unchanged, would_change

from . import texts
from .arguments import expand


def keyvalue(
    name: str,
    key: Any = None,
    value: Any = None,
    key_values: Any = None,
    separator: str = "=",
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    search_only: bool = False,
    show_changes: bool = True,
    ignore_if_missing: bool = False,
    count: int = 1,
    uncomment: str | None = None,
    key_ignore_case: bool = False,
    value_ignore_case: bool = False,
    create_if_missing: bool = False,
    prune: bool = False,
) -> Row:
    """Set the values of keys, each in the first ``count`` lines that have it (negative: in all); others are removed.

    ``uncomment`` are the comment characters to remove before a key. ``prune`` removes every line of another key.
    """
    name = expand(name)
    if not name:
        return failed(name, "Must provide name to file.keyvalue")
    if key is not None and value is not None:
        if isinstance(key_values, dict):
            return failed(name, "file.keyvalue can not combine key_values with key and value")
        key_values = {str(key): value}
    elif not isinstance(key_values, dict) or not key_values:
        what = "is not a dictionary" if key_values else "is empty"
        return failed(name, f"file.keyvalue key and value not supplied and key_values {what}")
    try:
        old = texts.lines(texts.read(name))
    except OSError as error:
        if not (create_if_missing and isinstance(error, FileNotFoundError)):
            return make_row(name, f"unable to open {name}", result=bool(ignore_if_missing))
        old, append_if_not_found = [], True
    edit = _Edit({str(name): value for name, value in key_values.items()}, separator, count, uncomment)
    edit.key_ignore_case, edit.value_ignore_case, edit.prune = key_ignore_case, value_ignore_case, prune
    for line in old:
        edit.take(line)
    if append_if_not_found:
        edit.append()
    elif prepend_if_not_found:
        edit.prepend()
    return _finish(name, edit, show_changes=show_changes)


class _Edit:
    """Goes through a file's lines once and collects the new content and Salt's kind of diff."""

    key_ignore_case = False
    value_ignore_case = False
    prune = False

    def __init__(self, wanted: dict[str, Any], separator: str, count: int, uncomment: str | None) -> None:
        self.wanted = wanted
        self.separator = separator
        self.uncomment = uncomment
        self.left = dict.fromkeys(wanted, count)
        self.content: list[str] = []
        self.diff: list[str] = []
        self.pruned: list[str] = []
        self.changed = 0

    def take(self, line: str) -> None:
        """Add one line to the new content, with the wanted value if it has one of the keys."""
        stripped = line.lstrip(self.uncomment)
        commented = len(stripped) < len(line)
        folded = stripped.lower() if self.key_ignore_case else stripped
        if self.prune and not folded.startswith(tuple(map(self._fold, self.wanted))):
            self.pruned.append(line)
            return
        found, separator, value = stripped.partition(self.separator)
        for key, wanted in self.wanted.items():
            if separator and self._fold(found) == self._fold(key):
                line = self._with_value(key, wanted, line, found, value, commented=commented)
        self.content.append(line)

    def _fold(self, key: str) -> str:
        return key.lower() if self.key_ignore_case else key

    def _with_value(self, key: str, wanted: Any, line: str, found: str, value: str, *, commented: bool) -> str:
        left = self.left[key]
        present, asked = value.strip(), str(wanted).strip()
        if self.value_ignore_case:
            present, asked = present.lower(), asked.lower()
        differs = present != asked
        if left > 0 if commented else differs or left == 0:
            self.diff.append(f"- {line}")
            line = ""
            if left:
                line = f"{found}{self.separator}{wanted}{os.linesep}"
                kind = "" if isinstance(wanted, str) else f" (from {type(wanted).__name__} type)"
                self.diff.append(f"+ {line.rstrip()}{kind}{os.linesep}" if kind else f"+ {line}")
            self.changed += 1
        if left > 0:
            self.left[key] = left - 1
        return line

    def _missing(self) -> list[str]:
        return [
            f"{key}{self.separator}{wanted}{os.linesep}" for key, wanted in self.wanted.items() if self.left[key] > 0
        ]

    def append(self) -> None:
        """Add the keys that were not found at the end."""
        lines = self._missing()
        if not lines:
            return
        if self.content and not self.content[-1].endswith("\n"):
            self.content[-1] += os.linesep
        self.content += lines
        self.diff += [f"- <EOF>{os.linesep}", *(f"+ {line}" for line in lines), f"+ <EOF>{os.linesep}"]
        self.changed += len(lines)

    def prepend(self) -> None:
        """Add the keys that were not found at the beginning; the first of them ends up last, as in Salt."""
        lines = self._missing()
        if not lines:
            return
        self.content[:0] = reversed(lines)
        self.diff[:0] = [f"  <SOF>{os.linesep}", *(f"+ {line}" for line in reversed(lines))]
        self.changed += len(lines)


def _finish(name: str, edit: _Edit, *, show_changes: bool) -> Row:
    modified, deleted = edit.changed, len(edit.pruned)
    if not modified and not deleted:
        return unchanged(name)
    diff = [*edit.diff[:1], *(f"- {line}" for line in reversed(edit.pruned)), *edit.diff[1:]]
    changes = {"diff": "".join(diff)} if show_changes else {}
    if is_dry_run():
        would = f"File {name} is set to be changed ({modified} lines modified, {deleted} deleted)"
        predicted = "\nPredicted diff:\n\r\t\t" + "\r\t\t".join(diff) if show_changes else ""
        return would_change(name, would + predicted, changes)
    try:
        filesystem.edit_content(filesystem.resolved(name), "".join(edit.content).encode())
    except OSError:
        return failed(name, f"{name} not writable", changes)
    return changed(name, f"Changed {modified}, deleted {deleted} lines", changes)
