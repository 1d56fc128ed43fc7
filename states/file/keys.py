"""``file.keyvalue``: values in a file of ``key = value`` lines."""

from __future__ import annotations

from typing import Any

from asyncstate import filesystem
from asyncstate.data import edits
from asyncstate.data.key_values import KeyValues
from asyncstate.dunders import Row, changed, failed, is_dry_run, make_row, unchanged, would_change

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
        text, codec = edits.decoded(filesystem.read_bytes(name))
    except OSError as error:
        if not (create_if_missing and isinstance(error, FileNotFoundError)):
            return make_row(name, f"unable to open {name}", result=bool(ignore_if_missing))
        text, codec, append_if_not_found = "", "utf-8", True
    edit = KeyValues({str(name): value for name, value in key_values.items()}, separator, count, uncomment)
    edit.key_ignore_case, edit.value_ignore_case, edit.prune = key_ignore_case, value_ignore_case, prune
    edit.read(text)
    if append_if_not_found:
        edit.append()
    elif prepend_if_not_found:
        edit.prepend()
    return _finish(name, edit, codec, show_changes=show_changes)


def _finish(name: str, edit: KeyValues, codec: str, *, show_changes: bool) -> Row:
    modified, deleted = edit.changed, len(edit.pruned)
    if not modified and not deleted:
        return unchanged(name)
    diff = [*edit.diff[:1], *(f"- {line}" for line in reversed(edit.pruned)), *edit.diff[1:]]
    changes = {"diff": "".join(diff)} if show_changes else {}
    try:
        has_room = filesystem.room_for(name, follow=True)
    except OSError:
        has_room = False
    if not has_room:
        return failed(name, f"{name} not writable", changes)
    if is_dry_run():
        would = f"File {name} is set to be changed ({modified} lines modified, {deleted} deleted)"
        predicted = "\nPredicted diff:\n\r\t\t" + "\r\t\t".join(diff) if show_changes else ""
        return would_change(name, would + predicted, changes)
    try:
        filesystem.edit_content(filesystem.resolved(name), edits.encoded("".join(edit.content), codec))
    except OSError:
        return failed(name, f"{name} not writable", changes)
    return changed(name, f"Changed {modified}, deleted {deleted} lines", changes)
