"""Diffs of files for rows."""

from __future__ import annotations

import codecs
import os
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.data import edits
from asyncstate.dunders import __opts__, __salt__
from asyncstate.errors import CommandExecutionError

from .paths import expand

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_HEAD = 512
"""Number of bytes that decide whether a file is text or binary, as in Salt."""

_TEXT = bytes(range(32, 127)) + b"\n\r\t\f\b"
_MULTIBYTE = bytes(range(128, 255))
_BINARY_SHARE = 0.30

_MARKS = (
    ("UTF-32-BE", codecs.BOM_UTF32_BE),
    ("UTF-32-LE", codecs.BOM_UTF32_LE),
    ("UTF-16-BE", codecs.BOM_UTF16_BE),
    ("UTF-16-LE", codecs.BOM_UTF16_LE),
    ("UTF-8", codecs.BOM_UTF8),
    ("UTF-7", b"+/v8"),
    ("UTF-7", b"+/v9"),
    ("UTF-7", b"+/v+"),
    ("UTF-7", b"+/v/"),
)

OBFUSCATED = "<Obfuscated Template>"
HIDDEN = "<show_changes=False>"


def is_binary(data: bytes) -> bool:
    """Guess from the first bytes of a file: it is binary with a NUL, or with more than 30 % that is no text."""
    if not data:
        return False
    if b"\0" in data:
        return True
    text = _TEXT
    try:
        data.decode("utf-8")
        text += _MULTIBYTE
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":  # the block ends within a character
            text += _MULTIBYTE
    return len(data.translate(None, text)) / len(data) > _BINARY_SHARE


def head(path: str, size: int = _HEAD) -> bytes:
    """Return the first bytes of a file, b"" if it cannot be read."""
    try:
        with filesystem.open_read(path) as stream:
            return stream.read(size)
    except OSError:
        return b""


def is_text(path: str) -> bool:
    """Return whether a file looks like text."""
    return not is_binary(head(path))


def text_encoding(data: bytes) -> str:
    """Return the encoding of text by its first bytes: that of its byte order mark, else UTF-8, else an error."""
    for encoding, mark in _MARKS:
        if data.startswith(mark):
            return encoding
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            raise CommandExecutionError("Could not detect file encoding") from error
    return "utf-8"


def decode(data: bytes) -> str:
    """Decode UTF-8, else Latin-1, so that every file can be shown and edited."""
    return edits.decoded(data)[0]


def lines_of(data: bytes) -> list[str]:
    """Split at newlines and keep them; each line is decoded by itself if the whole is not UTF-8."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return [decode(line) for line in _split(data)]
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _split(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def unified(old: Sequence[str], new: Sequence[str], names: tuple[str, str] = ("", "")) -> str:
    """Return the unified diff of lines that keep their newlines."""
    import difflib  # noqa: PLC0415 - most runs show no diff

    return "".join(difflib.unified_diff(old, new, names[0], names[1]))


def content_diff(old: bytes, new: bytes, names: tuple[str, str] = ("", "")) -> str:
    """Return how two contents differ: a unified diff, or a sentence if one is binary."""
    old_binary, new_binary = is_binary(old[:_HEAD]), is_binary(new[:_HEAD])
    if old_binary and new_binary:
        return "Replace binary file"
    if old_binary:
        return "Replace binary file with text file"
    if new_binary:
        return "Replace text file with binary file"
    return unified(lines_of(old), lines_of(new), names)


class Leniency:
    """The differences to ignore: the order of lines, white space around them, comments.

    A change with only ignored differences is still made; the row then has ``skip_req``.
    """

    __slots__ = ("comments", "ordering", "whitespace")

    def __init__(self, ordering: bool = False, whitespace: bool = False, comments: Any = None) -> None:
        self.ordering = ordering
        self.whitespace = whitespace
        self.comments = [comments] if comments and isinstance(comments, str) else list(comments or [])

    def __bool__(self) -> bool:
        return bool(self.ordering or self.whitespace or self.comments)

    def significant(self, old: bytes, new: bytes) -> bool:
        """Return whether anything differs that is not ignored."""
        if is_binary(old[:_HEAD]) or is_binary(new[:_HEAD]):
            return old != new
        added: list[str] = []
        removed: list[str] = []
        for line in unified(lines_of(old), lines_of(new)).splitlines(keepends=True):
            if line.startswith(("+++", "---")):
                continue
            kept = self._kept(line[1:])
            if kept and line[0] in "+-":
                (added if line[0] == "+" else removed).append(kept)
        return sorted(added) != sorted(removed)

    def _kept(self, line: str) -> str:
        for mark in self.comments:
            line = line.partition(mark)[0]
        return line.strip() if self.whitespace else line


def get_diff(
    file1: str,
    file2: str,
    saltenv: str = "base",
    show_filenames: bool = True,
    show_changes: bool = True,
    template: bool = False,
    source_hash_file1: str | None = None,
    source_hash_file2: str | None = None,
    ignore_ordering: bool = False,
    ignore_whitespace: bool = False,
    ignore_comment_characters: Any = None,
) -> Any:
    """Return the unified diff of two files (paths or URLs), "" if they are the same.

    With one of the arguments ``ignore_…``, returns whether anything significant differs, and the diff.
    """
    paths = [
        _cached(file1, saltenv, source_hash_file1),
        _cached(file2, saltenv, source_hash_file2),
    ]
    old, new = (_read(path) for path in paths)
    lenient = Leniency(ignore_ordering, ignore_whitespace, ignore_comment_characters)
    if old == new:
        return (False, "") if lenient else ""
    if template and __opts__.get("obfuscate_templates"):
        shown = OBFUSCATED
    elif not show_changes:
        shown = HIDDEN
    else:
        shown = content_diff(old, new, (paths[0], paths[1]) if show_filenames else ("", ""))
    return (lenient.significant(old, new), shown) if lenient else shown


def _cached(name: str, saltenv: str, source_hash: str | None) -> str:
    local = expand(name)
    if os.path.isabs(local):
        if filesystem.exists(local):
            return local
        raise CommandExecutionError(f"Failed to cache one or more files: File {name} not found")
    cached = __salt__["cp.cache_file"](name, saltenv, source_hash=source_hash)
    if not cached:
        raise CommandExecutionError(f"Failed to cache one or more files: File {name} not found")
    return str(cached)


def _read(path: str) -> bytes:
    try:
        return filesystem.read_bytes(path)
    except OSError as error:
        raise CommandExecutionError(f"Failed to read {path}: {error.strerror}") from error


def diff_or_note(old: bytes, new: bytes, *, show_changes: bool, template: bool) -> str:
    """Return the diff of two contents as ``changes`` shows it: hidden or obfuscated if arguments or options say so."""
    if template and __opts__.get("obfuscate_templates"):
        return OBFUSCATED
    return content_diff(old, new) if show_changes else HIDDEN


def joined(lines: Iterable[str]) -> bytes:
    """Return lines as the bytes of a file."""
    return "".join(lines).encode()
