"""Flow style, ``[a, {b: c}]``, in unfinished texts: over several lines, and without a closing bracket."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"(?P<blank>[ \t]+)|(?P<comment>(?<=\s)#[^\n]*)|(?P<line>\n(?=(?P<indent>[ \t]*)(?P<begin>[^\n]?)))"
    r"|(?P<open>[\[{])|(?P<close>[\]}])|(?P<comma>,)|(?P<colon>:(?=[\s,\[\]{}]|\Z))"
    r"|(?P<quoted>'(?:[^'\n]|'')*'(?P<glued>:)?|\"(?:[^\"\\\n]|\\.)*\"(?P<tight>:)?)|(?P<begun>['\"][^'\"\n]*\Z)"
    r"|(?P<lent>[&*!][^\s,\[\]{}]*)"
    r"|(?P<plain>[^\s\[\]{},'\"&*!](?:[^\n\[\]{},:#]|:(?![\s,\[\]{}]|\Z)|(?<=\S)#)*)|(?P<odd>.)"
)
_DEEPEST: Final = 100
"""The depth of brackets below which nothing is read."""
_WORDS: Final = frozenset({"quoted", "begun", "plain"})
_BETWEEN: Final = frozenset({"blank", "comment", "line"})
_CONTINUES: Final = frozenset({"", "#", "]", "}", ","})
"""Beginnings of a line that continue a list or mapping, however little they are indented."""


class Span(NamedTuple):
    """A part of a text, without blanks around it and with its quotation marks."""

    start: int
    end: int


class Pair(NamedTuple):
    """A key with a value, either may be missing; ``above`` are the keys above it. ``dash``: it is an item of a list."""

    above: tuple[Span, ...]
    dash: bool
    key: Span | None
    value: Span | None


class _Frame:
    """An open bracket; ``key`` is the one that waits for its value."""

    def __init__(self, above: tuple[Span, ...], *, listed: bool, dash: bool) -> None:
        self.above = above
        self.listed = listed
        self.dash = dash
        self.key: Span | None = None


class Flow:
    """The list or mapping that begins at ``start`` of a text, whose templates are masked.

    ``dash``: it is itself an item of a list. A line that is indented by no more than ``floor`` ends what is not closed.
    ``end`` is where it ends; ``closed`` tells whether by its bracket. No text raises.
    """

    def __init__(self, text: str, start: int, floor: int, *, dash: bool) -> None:
        self.start: int = start
        self.dashed: bool = dash
        self.pairs: list[Pair] = []
        self.end: int = start
        self.word: Span | None = None
        """The word at the end, if it is not closed."""
        self._frames: list[_Frame] = []
        self._read(text, start, floor, dash=dash)

    @property
    def closed(self) -> bool:
        """Whether all brackets are closed."""
        return not self._frames

    @property
    def above(self) -> tuple[Span, ...]:
        """The keys above the next word, without the key whose value it is."""
        return self._frames[-1].above

    @property
    def key(self) -> Span | None:
        """The key whose value comes next."""
        return self._frames[-1].key

    @property
    def listed(self) -> bool:
        """Whether the next word is an item of a list, outside of braces."""
        return self._frames[-1].listed

    @property
    def dash(self) -> bool:
        """Whether the next word is an item of a list, or a pair in one."""
        return self._frames[-1].dash

    @property
    def unfinished(self) -> Pair:
        """The context at the end, if it is not closed."""
        frame = self._frames[-1]
        if frame.key is not None or not frame.listed:
            return Pair(frame.above, frame.dash, frame.key or self.word, self.word if frame.key else None)
        return Pair(frame.above, frame.dash, None, self.word)

    def _read(self, text: str, start: int, floor: int, *, dash: bool) -> None:
        for found in _TOKEN.finditer(text, start):
            kind = found.lastgroup
            if kind == "line" and found["begin"] not in _CONTINUES and len(found["indent"]) <= floor:
                return
            self.end = found.end()
            if kind in _BETWEEN or (kind in _WORDS and self.word is not None):  # a word goes on in the next line
                continue
            self._take_word(colon=kind == "colon")
            if kind == "open" and len(self._frames) == _DEEPEST:
                return
            if kind == "open":
                self._open(found[0], dash=dash)
            elif kind in {"close", "comma"}:
                self._end_pair()
                if kind == "close":
                    self._frames.pop()
                    if not self._frames:
                        return
                    self._frames[-1].key = None
            elif kind in _WORDS:
                tight = bool(found["glued"] or found["tight"])
                self.word = Span(found.start(), found.start() + len(found[0].rstrip(" \t")) - tight)
                if tight:
                    self._take_word(colon=True)

    def _open(self, bracket: str, *, dash: bool) -> None:
        listed = bracket == "["
        if not self._frames:
            self._frames.append(_Frame((), listed=listed, dash=listed or dash))
            return
        frame = self._frames[-1]
        above = frame.above if frame.key is None else (*frame.above, frame.key)
        if frame.key is not None:
            self.pairs.append(Pair(frame.above, frame.dash, frame.key, None))
        self._frames.append(_Frame(above, listed=listed, dash=listed or (frame.listed and frame.key is None)))

    def _end_pair(self) -> None:
        """Add the key that waits for a value without one."""
        frame = self._frames[-1]
        if frame.key is not None:
            self.pairs.append(Pair(frame.above, frame.dash, frame.key, None))
            frame.key = None

    def _take_word(self, *, colon: bool) -> None:
        """Take the word before a token: with a colon it is a key."""
        word, self.word = self.word, None
        if not self._frames:
            return
        frame = self._frames[-1]
        if colon:
            frame.key = word if frame.key is None else frame.key
        elif word is not None and frame.key is not None:
            self.pairs.append(Pair(frame.above, frame.dash, frame.key, word))
            frame.key = None
        elif word is not None:
            key, value = (None, word) if frame.listed else (word, None)
            self.pairs.append(Pair(frame.above, frame.dash, key, value))
