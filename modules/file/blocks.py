"""``file.blockreplace``: the text between two marker lines."""

from __future__ import annotations

import os
from typing import Any

from asyncstate import filesystem
from asyncstate.data import edits
from asyncstate.errors import CommandExecutionError, InvocationError

from .backups import copied_beside
from .diffs import is_binary, text_encoding, unified
from .paths import expand

_HEAD = 2048


def blockreplace(
    path: str,
    marker_start: str = "#-- start managed zone --",
    marker_end: str = "#-- end managed zone --",
    content: str = "",
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    backup: Any = ".bak",
    dry_run: bool = False,
    show_changes: bool = True,
    append_newline: bool | None = False,
    insert_before_match: str | None = None,
    insert_after_match: str | None = None,
) -> Any:
    """Replace the text between the markers by ``content``. Returns the diff, or whether the file changes.

    A missing block is an error unless an argument (``…_if_not_found``, ``insert_…_match``) says where to put it.
    """
    places = (append_if_not_found, prepend_if_not_found, bool(insert_before_match), bool(insert_after_match))
    if sum(map(bool, places)) > 1:
        raise InvocationError(
            "Only one of append_if_not_found, prepend_if_not_found, insert_before_match, and insert_after_match "
            "is permitted"
        )
    for argument, value in (("insert_before_match", insert_before_match), ("insert_after_match", insert_after_match)):
        if value and not isinstance(value, str):
            raise CommandExecutionError(f"RegEx expected in {argument} parameter.")
    path = filesystem.resolved(os.path.abspath(expand(path)))
    if not filesystem.exists(path):
        raise InvocationError(f"File not found: {path}")
    mark, old, codec = _load(path)
    new = edits.with_block(
        old,
        marker_start,
        marker_end,
        content,
        append_newline=append_newline,
        append_if_not_found=append_if_not_found,
        prepend_if_not_found=prepend_if_not_found,
        insert_before_match=insert_before_match,
        insert_after_match=insert_after_match,
    )
    text = "".join(new)
    difference = unified(old, text.splitlines(keepends=True))
    if difference and not dry_run:
        with copied_beside(path, "" if backup is False else str(backup)):
            filesystem.replace_content(path, edits.encoded(mark + text, codec))
    return difference if show_changes else bool(difference)


def _load(path: str) -> tuple[str, list[str], str]:
    """Return the byte order mark of a file, "" without one, its lines, and its encoding."""
    try:
        data = filesystem.read_bytes(path)
    except OSError as error:
        raise CommandExecutionError(f"Failed to read from {path}: {error}") from error
    try:
        codec = text_encoding(data[:_HEAD])
    except CommandExecutionError:
        if is_binary(data[:_HEAD]):
            raise InvocationError(f"Cannot perform string replacements on a binary file: {path}") from None
        codec = "latin-1"
    try:
        text = data.decode(codec)
    except UnicodeDecodeError:
        text, codec = data.decode("latin-1"), "latin-1"
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    return mark, text.removeprefix(mark).splitlines(keepends=True), codec
