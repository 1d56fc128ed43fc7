"""The structure of one unfinished SLS file: with its templates, and while it does not parse.

Lines are read one by one. Indentation and dashes give the nesting; template statements count as blanks, and an
expression as a part of a word. No text raises.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.extras.editor.flow import Flow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.extras.editor.flow import Span

_CLOSED = re.compile(r"\{\{(?:(?!\}\}|\{\{|\{%).)*\}\}|\{%(?:(?!%\}|\{\{|\{%).)*%\}|\{#(?:(?!#\}|\{#).)*#\}", re.DOTALL)
_OPEN = re.compile(r"\{\{[^\n]*|\{%[^\n]*")
START = re.compile(r"(?P<indent> *)(?P<dashes>(?:- +|-$)*)")
KEY = re.compile(
    r"(?P<key>'(?:[^'\n]|'')*'|\"(?:[^\"\\\n]|\\.)*\"|[^\s'\"#\[\]{}&*!|>%@,-](?:[^\n:#]|:(?=\S)|(?<=\S)#)*?"
    r"|-[^\s](?:[^\n:#]|:(?=\S)|(?<=\S)#)*?)\s*:(?=\s|$)"
)
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*$")
_BRACKETS = frozenset("[{")
_BLOCK = re.compile(r"[|>][-+\d]*\s*$")
_SHEBANG = re.compile(r"#!\s*(?P<pipe>[^\n]*)")
_OTHER_LANGUAGES = frozenset({"py", "pyobjects", "pydsl", "json", "json5", "toml", "hjson", "msgpack"})
_LONGESTKEY = 1000
"""The longest key that is looked for: the time for a line without one grows with the square of its blanks."""

HOLE = "\0"
"""The placeholder for each character of a template expression."""


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

    ``column`` is where the entry begins: its dash, else its key. ``value`` is None if nothing follows the key on its
    line, or a list or mapping in flow style, whose parts are entries with ``flow``.
    """

    path: tuple[Word, ...]
    column: int
    dash: bool
    key: Word | None
    value: Word | None
    flow: bool = False

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


class Within(NamedTuple):
    """The place of a cursor in flow style: the keys above it, and the key whose value it is in, if any.

    ``dash``: it is in an item of a list; ``listed``: outside of braces. ``start`` is the column of the word before it.
    """

    above: tuple[Word, ...]
    key: Word | None
    dash: bool
    listed: bool
    start: int


def at_cursor(text: str, line: int, column: int) -> tuple[list[Entry], Within | None]:
    """Return the entries of a text, and the position of a cursor in flow style, if it is in one."""
    lines = _Lines(text)
    return list(lines.entries()), lines.within(line, column)


def entries(text: str) -> Iterator[Entry]:
    """Yield the entries of a text in their order. Lines of block scalars, comments and invalid YAML are left out."""
    if is_sls_data(text):
        yield from _Lines(text).entries()


class _Lines:
    """The lines of a text, as they are and with its templates masked."""

    def __init__(self, text: str) -> None:
        self._real = text.split("\n")
        self._masked = masked(text)
        self._lines = self._masked.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]
        self._flows: list[tuple[Flow, tuple[Word, ...]]] = []

    def entries(self) -> Iterator[Entry]:
        above: list[_Above] = []
        scalar = -1
        number = -1
        while (number := number + 1) < len(self._lines):
            line = self._lines[number]
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
            if line[rest] in _BRACKETS:
                flow = Flow(self._masked, self._starts[number] + rest, indent, dash=dash)
                yield from self._within(flow, path)
                number = self._line_of(flow.end)
                continue
            found = KEY.match(line, rest, rest + _LONGESTKEY)
            if found is None:
                yield Entry(path, indent, dash, None, self._word(number, rest))
                continue
            key = self._unquoted(number, found.start("key"), found.end("key"))
            value = self._word(number, found.end())
            if value is not None and line[value.place.start] in _BRACKETS:
                yield Entry(path, indent, dash, key, None)
                flow = Flow(self._masked, self._starts[number] + value.place.start, indent, dash=False)
                yield from self._within(flow, (*path, key))
                number = self._line_of(flow.end)
            else:
                if value is not None and _BLOCK.fullmatch(value.text):
                    scalar = rest if dash else indent
                    value = None
                yield Entry(path, indent, dash, key, value)
            above.append(_Above(indent, rest, key))

    def _within(self, flow: Flow, path: tuple[Word, ...]) -> Iterator[Entry]:
        """Yield the entries of a list or a mapping in flow style."""
        self._flows.append((flow, path))
        for pair in flow.pairs if flow.closed else (*flow.pairs, flow.unfinished):
            key, value = (None if span is None else self._at(span) for span in (pair.key, pair.value))
            word = key or value
            if word is not None:
                above = (*path, *map(self._at, pair.above))
                yield Entry(above, word.place.start, pair.dash, key, value, flow=True)

    def within(self, line: int, column: int) -> Within | None:
        """Return the position of a cursor in flow style, if it is in one."""
        cursor = self._starts[line] + column
        for flow, path in self._flows:
            if flow.start < cursor and (
                cursor < flow.end or (not flow.closed and not self._masked[flow.end : cursor].strip())
            ):
                begun = Flow(self._masked[:cursor], flow.start, -1, dash=flow.dashed)
                if begun.closed:
                    return None
                word = begun.word if begun.word is not None and begun.word.start >= self._starts[line] else None
                start = (
                    word.start - self._starts[line]
                    if word is not None and not self._masked[word.end : cursor]
                    else column
                )
                key = None if begun.key is None else self._at(begun.key)
                return Within((*path, *map(self._at, begun.above)), key, begun.dash, begun.listed, start)
        return None

    def _line_of(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1

    def _at(self, span: Span) -> Word:
        number = self._line_of(span.start)
        start = self._starts[number]
        return self._unquoted(number, span.start - start, span.end - start)

    def _word(self, number: int, start: int) -> Word | None:
        """Return the word from a column on, without blanks and comments; None if there is none."""
        text = _COMMENT.sub("", self._lines[number][start:])
        stripped = text.strip()
        if not stripped:
            return None
        first = start + len(text) - len(text.lstrip())
        return self._unquoted(number, first, first + len(stripped))

    def _unquoted(self, number: int, start: int, end: int) -> Word:
        """Return a part of a line without its quotation marks."""
        templated = HOLE in self._lines[number][start:end]
        text = self._real[number][start:end]
        if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
            inner = text[1:-1]
            inner = inner.replace("''", "'") if text[0] == "'" else inner
            return Word(inner, Place(number, start + 1, end - 1), templated)
        return Word(text, Place(number, start, end), templated)


def path_at(found: list[Entry], line: int, column: int, *, dash: bool) -> tuple[Word, ...]:
    """Return the keys above a new entry that begins at a column of a line, with or without a dash."""
    above: list[_Above] = []
    for entry in found:
        if entry.line >= line:
            break
        if entry.flow:
            continue
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
