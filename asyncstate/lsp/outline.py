"""The structure of one SLS file as it stands in the editor: with its templates, and while it does not parse.

Lines are read one by one. Indentation and dashes say what belongs to what; template statements count as blanks, and an
expression as a part of a word. No text raises.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLOSED = re.compile(r"\{\{(?:(?!\}\}|\{\{|\{%).)*\}\}|\{%(?:(?!%\}|\{\{|\{%).)*%\}|\{#(?:(?!#\}|\{#).)*#\}", re.DOTALL)
_OPEN = re.compile(r"\{\{[^\n]*|\{%[^\n]*")
START = re.compile(r"(?P<indent> *)(?P<dashes>(?:- +|-$)*)")
KEY = re.compile(
    r"(?P<key>'(?:[^'\n]|'')*'|\"(?:[^\"\\\n]|\\.)*\"|[^\s'\"#\[\]{}&*!|>%@,-](?:[^\n:#]|:(?=\S)|(?<=\S)#)*?"
    r"|-[^\s](?:[^\n:#]|:(?=\S)|(?<=\S)#)*?)\s*:(?=\s|$)"
)
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*$")
_BLOCK = re.compile(r"[|>][-+\d]*\s*$")
_SHEBANG = re.compile(r"#!\s*(?P<pipe>[^\n]*)")
_OTHER_LANGUAGES = frozenset({"py", "pyobjects", "pydsl", "json", "json5", "toml", "hjson", "msgpack"})
_LONGESTKEY = 1000
"""No longer key is looked for: the time for a line without one grows with the square of its blanks."""

HOLE = "\0"
"""What stands for each character of a template expression."""


class Place(NamedTuple):
    """A part of one line: the line and the columns, counted from 0, ``end`` excluded. Columns count characters."""

    line: int
    start: int
    end: int

    def holds(self, line: int, column: int) -> bool:
        """Return whether a cursor is in this part, or at one of its ends."""
        return self.line == line and self.start <= column <= self.end


class Word(NamedTuple):
    """A key or a value without its quotation marks, and its place without them.

    ``templated``: it is only known after rendering.
    """

    text: str
    place: Place
    templated: bool = False


class Entry(NamedTuple):
    """One line of a mapping or a list. ``path`` has the keys above it; ``key`` is None for a list item without one.

    ``column`` is where the entry begins: its dash, else its key. ``value`` is None if nothing follows the key.
    """

    path: tuple[Word, ...]
    column: int
    dash: bool
    key: Word | None
    value: Word | None

    @property
    def line(self) -> int:
        """The line, counted from 0."""
        word = self.key or self.value
        return word.place.line if word is not None else -1

    @property
    def names(self) -> tuple[str, ...]:
        """The keys above it, as texts."""
        return tuple(word.text for word in self.path)


def masked(text: str) -> str:
    """Return the text with blanks for template statements and comments, and holes for expressions. Lengths stay."""

    def blank(found: re.Match[str]) -> str:
        filler = HOLE if found[0].startswith("{{") else " "
        return re.sub(r"[^\n]", filler, found[0])

    return _OPEN.sub(blank, _CLOSED.sub(blank, text)) if "{" in text else text


def is_sls_data(text: str) -> bool:
    """Return whether a file renders to YAML, so that lines and indentation mean something."""
    found = _SHEBANG.match(text)
    if found is None:
        return True
    parts = re.split(r"[|\s]+", found["pipe"].strip())
    return not _OTHER_LANGUAGES.intersection(parts)


class _Above(NamedTuple):
    start: int
    column: int
    key: Word


def entries(text: str) -> Iterator[Entry]:
    """Yield the entries of a text in their order. Lines of block scalars, comments and what is no YAML are left out."""
    if not is_sls_data(text):
        return
    lines = text.split("\n")
    above: list[_Above] = []
    scalar = -1
    for number, (line, real) in enumerate(zip(masked(text).split("\n"), lines, strict=True)):
        begin = START.match(line)
        if begin is None or not line.strip():
            continue
        indent = len(begin["indent"])
        if scalar >= 0:
            if indent > scalar:
                continue
            scalar = -1
        rest = begin.end()
        if rest >= len(line.rstrip()) or line[rest] == "#":
            continue
        dash = bool(begin["dashes"])
        while above and not _is_below(above[-1], indent, dash=dash):
            above.pop()
        path = tuple(each.key for each in above)
        found = KEY.match(line, rest, rest + _LONGESTKEY)
        if found is None:
            yield Entry(path, indent, dash, None, _word(line, real, number, rest))
            continue
        key = _unquoted(line, real, number, found.start("key"), found.end("key"))
        value = _word(line, real, number, found.end())
        if value is not None and _BLOCK.fullmatch(value.text):
            scalar = rest if dash else indent
            value = None
        yield Entry(path, indent, dash, key, value)
        above.append(_Above(indent, rest, key))


def path_at(found: list[Entry], line: int, column: int, *, dash: bool) -> tuple[Word, ...]:
    """Return the keys above a new entry that begins at a column of a line, with or without a dash."""
    above: list[_Above] = []
    for entry in found:
        if entry.line >= line:
            break
        while above and not _is_below(above[-1], entry.column, dash=entry.dash):
            above.pop()
        if entry.key is not None:
            above.append(_Above(entry.column, _key_column(entry), entry.key))
    while above and not _is_below(above[-1], column, dash=dash):
        above.pop()
    return tuple(each.key for each in above)


def _key_column(entry: Entry) -> int:
    """Return where the key begins, its quotation mark included."""
    if entry.key is None:
        return entry.column
    return entry.key.place.start if entry.dash else entry.column


def _is_below(above: _Above, column: int, *, dash: bool) -> bool:
    """Return whether an entry that begins at a column belongs to the key above it."""
    return above.column < column or (dash and above.column == column and above.start <= column)


def _word(line: str, real: str, number: int, start: int) -> Word | None:
    """Return what follows on a line, without blanks and comments; None if nothing does."""
    text = _COMMENT.sub("", line[start:])
    stripped = text.strip()
    if not stripped:
        return None
    first = start + len(text) - len(text.lstrip())
    return _unquoted(line, real, number, first, first + len(stripped))


def _unquoted(line: str, real: str, number: int, start: int, end: int) -> Word:
    templated = HOLE in line[start:end]
    text = real[start:end]
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        inner = text[1:-1]
        inner = inner.replace("''", "'") if text[0] == "'" else inner
        return Word(inner, Place(number, start + 1, end - 1), templated)
    return Word(text, Place(number, start, end), templated)
