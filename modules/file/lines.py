"""``file.line``: one line at the right place."""

from __future__ import annotations

import logging
import os
import re
import time
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import is_dry_run
from asyncstate.errors import CommandExecutionError

from .backups import copy_beside
from .diffs import lines_of, unified
from .edits import load_text, store_text
from .paths import expand

log = logging.getLogger(__name__)

_EOL = re.compile(r"((?<!\r)\n|\r(?!\n)|\r\n)$")
_MODES = ("insert", "ensure", "delete", "replace")


def line(
    path: str,
    content: Any = None,
    match: Any = None,
    mode: str | None = None,
    location: str | None = None,
    before: str | None = None,
    after: str | None = None,
    show_changes: bool = True,
    backup: bool = False,
    quiet: bool = False,
    indent: bool = True,
) -> Any:
    """Insert, ensure, replace or delete a line. Returns the diff, or with ``show_changes: False`` whether it changed.

    ``match``, ``before``, ``after`` are regular expressions or parts of a line. CommandExecutionError if the place
    is not unique, or the arguments are invalid.
    """
    path = filesystem.resolved(os.path.abspath(expand(path)))
    if not filesystem.is_file(path):
        if quiet:
            return False
        raise CommandExecutionError(f'File "{path}" does not exists or is not a file.')
    if mode is None:
        raise CommandExecutionError("Mode was not defined. How to process the file?")
    mode = mode.lower()
    if mode not in _MODES:
        raise CommandExecutionError(f'Unknown mode: "{mode}"')
    if mode != "delete" and content is None:
        raise CommandExecutionError('Content can only be empty if mode is "delete"')
    whole, codec = load_text(path)
    old = lines_of(whole.encode())
    text = None if content is None else str(content)
    body = list(old)
    if body and _eol(body[-1]):
        body.append("")
    if not old and mode in {"delete", "replace"}:
        log.warning("Cannot find text to %s. File '%s' is empty.", mode, path)
        body = []
    body = _ended(_edit(body, text, match, mode, location, before, after, indent))
    if body == old:
        return False
    changes = unified(old, body) if show_changes else True
    if not is_dry_run():
        if backup:
            copy_beside(path, time.strftime(".%Y-%m-%d-%H-%M-%S"))
        store_text(path, "".join(body), codec, in_place=False)
    return changes


def _eol(text: str) -> str:
    found = _EOL.search(text)
    return found.group() if found else ""


def _ended(body: list[str]) -> list[str]:
    """Give every line but the last a line ending, that of a neighbour."""
    for index, text in enumerate(body[:-1]):
        if not _eol(text):
            body[index] = text.rstrip() + (_eol(body[index - 1 if index > 1 else 1]) or "\n")
    if body and not body[-1]:
        body.pop()
    return body


def _matching(lines: list[str], expression: Any) -> list[str] | None:
    """Return the lines that match an expression or contain it as text; None without lines or expression."""
    if not lines or not expression:
        return None
    try:
        pattern = re.compile(str(expression), re.DOTALL)
    except re.error as error:
        raise CommandExecutionError(f"{error}: '{expression}'") from error
    return [text for text in lines if pattern.search(text) or str(expression) in text]


def _only(found: list[str], which: str) -> None:
    if len(found) != 1:
        raise CommandExecutionError(
            f'Found {"more than" if found else "less than"} expected occurrences in "{which}" expression'
        )


def _indented(like: str, text: str, indent: bool) -> str:
    if not indent:
        return text
    return like[: len(like) - len(like.lstrip("\t "))] + text.lstrip()


def _same(one: str, other: str) -> bool:
    return one.rstrip("\r\n") == other.rstrip("\r\n")


def _edit(
    lines: list[str],
    content: str | None,
    match: Any,
    mode: str,
    location: str | None,
    before: str | None,
    after: str | None,
    indent: bool,
) -> list[str]:
    if not match and before is None and after is None:
        match = content
    found, above, below = _matching(lines, match), _matching(lines, after), _matching(lines, before)
    if mode == "delete":
        return [text for text in lines if text != found[0]] if found else lines
    text = content or ""
    if mode == "replace":
        if found:
            index = lines.index(found[0])
            lines[index] = _indented(lines[index], text, indent)
        return lines
    if mode == "insert":
        return _insert(
            lines, text, location, above, below, indent, asked=location is not None or not (before is after is None)
        )
    return _ensure(lines, text, above, below, indent)


def _insert(
    lines: list[str],
    text: str,
    location: str | None,
    above: list[str] | None,
    below: list[str] | None,
    indent: bool,
    *,
    asked: bool,
) -> list[str]:
    if not asked:
        raise CommandExecutionError('On insert either "location" or "before/after" conditions are required.')
    if location == "end":
        lines.append(_indented(lines[-1], text, indent) if lines else text)
    elif location == "start":
        lines.insert(0, text.rstrip() + ((_eol(lines[0]) if lines else "") or "\n"))
    elif location:
        return lines
    elif above and below:
        _only(below, "before")
        _only(above, "after")
        index = lines.index(below[0])
        lines.insert(index, _indented(lines[index], text, indent))
    elif above:
        _only(above, "after")
        index = lines.index(above[0])
        if index + 1 >= len(lines) or not _same(lines[index + 1], text):
            lines.insert(index + 1, _indented(lines[index], text, indent))
    elif below:
        _only(below, "before")
        index = lines.index(below[0])
        if not _same(lines[index - 1], text):
            lines.insert(index, _indented(lines[index], text, indent))
    else:
        raise CommandExecutionError("Neither before or after was found in file")
    return lines


def _ensure(lines: list[str], text: str, above: list[str] | None, below: list[str] | None, indent: bool) -> list[str]:
    if above and below:
        _only(above, "after")
        _only(below, "before")
        first, last = lines.index(above[0]), lines.index(below[0])
        if not any(present.lstrip() == text for present in lines):
            if first + 1 == last:
                lines.insert(last, _indented(lines[first], text, indent))
            elif first + 2 == last:
                lines[first + 1] = _indented(lines[first], text, indent)
            else:
                raise CommandExecutionError('Found more than one line between boundaries "before" and "after".')
    elif below:
        _only(below, "before")
        index = lines.index(below[0])
        if index == 0 or not _same(lines[index - 1], text):
            lines.insert(index, _indented(lines[index - 1], text, indent))
    elif above:
        _only(above, "after")
        index = lines.index(above[0])
        if index + 1 >= len(lines) or not _same(lines[index + 1], text):
            lines.insert(index + 1, _indented(lines[index], text, indent))
    else:
        raise CommandExecutionError(
            "Wrong conditions? Unable to ensure line without knowing where to put it before and/or after."
        )
    return lines
