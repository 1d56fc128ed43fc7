"""Functions on the text of edited files: reading it, searching it, showing what changed."""

from __future__ import annotations

import re
import shlex

from asyncstate import filesystem

_HEAD = 512
_TEXT = bytes(range(32, 127)) + b"\n\r\t\f\b"
_SHARE = 0.30


def read(name: str) -> str:
    """Return a file's text: UTF-8, else Latin-1."""
    data = filesystem.read_bytes(name)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def is_text(text: str) -> bool:
    """Guess from the beginning whether this is text, as Salt does for the bytes of a file."""
    head = text[:_HEAD]
    unreadable = sum(1 for letter in head if ord(letter) < 128 and letter.encode() not in _TEXT)
    return "\0" not in head and (not head or unreadable / len(head) <= _SHARE)


def shown(old: list[str], new: list[str], text: str, *, show_changes: bool = True, joint: str = "") -> str:
    """Return the diff of lines as a row shows it, its lines joined by ``joint``."""
    import difflib  # noqa: PLC0415 - most runs show no diff

    if not is_text(text):
        return "Replace binary file"
    return joint.join(difflib.unified_diff(old, new)) if show_changes else "<show_changes=False>"


def is_there(text: str, chunk: str) -> bool:
    """Return whether ``text`` has the lines of ``chunk``, however much white space is between its words."""
    words = [re.escape(word) for line in chunk.splitlines() for word in _words(line)]
    # Each run of white space is scanned once: a file of nothing but line breaks, which any user may write, would
    # otherwise take hours.
    between = r"\s*+".join(words)
    return re.search(rf"^[^\S\n]*{between}[^\S\n]*$", text, re.MULTILINE) is not None


def _words(line: str) -> list[str]:
    """Split at white space, but not within quotes of one kind if the line has only that."""
    lexer = shlex.shlex(line)
    lexer.whitespace_split = True
    lexer.commenters = ""
    if "'" in line:
        lexer.quotes = '"'
    elif '"' in line:
        lexer.quotes = "'"
    try:
        return list(lexer)
    except ValueError:  # quotes that don't close
        return line.split()


def lines(text: str) -> list[str]:
    """Split with line endings kept."""
    return text.splitlines(keepends=True)
