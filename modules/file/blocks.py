"""``file.blockreplace``: the text between two marker lines."""

from __future__ import annotations

import os
import re
from typing import Any

from asyncstate import filesystem
from asyncstate.errors import CommandExecutionError, InvocationError

from .backups import copy_beside
from .diffs import is_binary, text_encoding, unified
from .paths import expand

_HEAD = 2048
_MISSING = "Cannot edit marked block. Markers were not found in file."


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
    old, codec = _load(path)
    if append_newline is None and not content.endswith("\n"):
        append_newline = True
    block = _Block(marker_start, marker_end, content.replace("\r\n", "\n").split("\n"), bool(append_newline), old)
    new = block.replaced(old)
    if new is None:
        if prepend_if_not_found:
            new = [*block.lines(), *old]
        elif append_if_not_found:
            ended = [*old[:-1], old[-1] if old[-1].endswith(block.linesep) else old[-1] + block.linesep] if old else []
            new = [*ended, *block.lines()]
        elif insert_before_match or insert_after_match:
            new = _inserted(old, block.lines(), insert_before_match, insert_after_match)
        else:
            raise CommandExecutionError(_MISSING)
    difference = unified(old, new)
    if difference and not dry_run:
        if backup is not False:
            copy_beside(path, str(backup))
        filesystem.replace_content(path, "".join(new).encode(codec))
    return difference if show_changes else bool(difference)


def _load(path: str) -> tuple[list[str], str]:
    data = filesystem.read_bytes(path)
    try:
        codec = text_encoding(data[:_HEAD])
    except CommandExecutionError:
        if is_binary(data[:_HEAD]):
            raise InvocationError(f"Cannot perform string replacements on a binary file: {path}") from None
        codec = "latin-1"
    try:
        return data.decode(codec).splitlines(keepends=True), codec
    except UnicodeDecodeError:
        return data.decode("latin-1").splitlines(keepends=True), "latin-1"


class _Block:
    """The wanted lines, with the line ending of the file."""

    def __init__(self, start: str, end: str, content: list[str], newline: bool, old: list[str]) -> None:
        self.start = start
        self.end = end
        self.content = content
        self.newline = newline
        self.linesep = "\r\n" if old and old[0].endswith("\r\n") else "\n"

    def lines(self) -> list[str]:
        """Return the whole block, with its markers."""
        return [self.start + self.linesep, *self._body(self.end)]

    def _body(self, end: str) -> list[str]:
        end = end.rstrip("\r\n") + self.linesep
        body = [line + self.linesep for line in self.content[:-1]]
        last = self.content[-1]
        return [*body, last + self.linesep, end] if self.newline else [*body, last + end]

    def replaced(self, old: list[str]) -> list[str] | None:
        """Return the lines with every marked block replaced; None if there is none."""
        new: list[str] = []
        inside = found = False
        for line in old:
            if self.start in line:
                inside = True
                new.append(line)
            elif not inside:
                new.append(line)
            elif self.end in line:
                inside, found = False, True
                new.extend(self._body(line[line.index(self.end) :]))
        if inside:
            raise CommandExecutionError("Unterminated marked block. End of file reached before marker_end.")
        return new if found else None


def _inserted(old: list[str], block: list[str], before: str | None, after: str | None) -> list[str]:
    pattern = re.compile(before or after or "")
    index = next((index for index, line in enumerate(old) if pattern.search(line)), None)
    if index is None:
        raise CommandExecutionError(_MISSING)
    place = index if before else index + 1
    return [*old[:place], *block, *old[place:]]
