"""Functions on the text of edited files: reading, searching, diffs."""

from __future__ import annotations

from asyncstate import filesystem
from asyncstate.data import edits

_HEAD = 512
_TEXT = bytes(range(32, 127)) + b"\n\r\t\f\b"
_SHARE = 0.30


def read(name: str) -> str:
    """Return a file's text: UTF-8, else Latin-1."""
    return edits.decoded(filesystem.read_bytes(name))[0]


def is_text(text: str) -> bool:
    """Guess from the beginning whether this is text, as Salt does for the bytes of a file."""
    head = text[:_HEAD]
    unreadable = sum(1 for letter in head if ord(letter) < 128 and letter.encode() not in _TEXT)
    return "\0" not in head and (not head or unreadable / len(head) <= _SHARE)


def shown(old: list[str], new: list[str], text: str, *, show_changes: bool = True, joint: str = "") -> str:
    """Return the diff of lines for a row, joined by ``joint``."""
    import difflib  # noqa: PLC0415 - most runs show no diff

    if not is_text(text):
        return "Replace binary file"
    return joint.join(difflib.unified_diff(old, new)) if show_changes else "<show_changes=False>"


def lines(text: str) -> list[str]:
    """Split with line endings kept."""
    return text.splitlines(keepends=True)
