"""Index of one SLS file's declarations and references: for completion, definitions, references, renaming."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from asyncstate.extras.editor.outline import Entry, Place, Word, entries, masked
from asyncstate.model.requisite import REFERENCES

REQUISITES: Final = frozenset(REFERENCES) - {"prerequired"}
"""The words of an SLS file whose values name other states."""
DIRECTIVES: Final = ("include", "extend", "exclude")
"""The keys at the left margin that are no IDs."""

_SALT_URL = re.compile(r"salt://(?P<path>[^\s'\"|,\]})]*)")
_TEMPLATE = re.compile(r"\{%-?\s*(?:import|from|include|extends)\s+(?P<quote>['\"])(?P<path>[^'\"\n]*)(?P=quote)")
_PILLAR_CALL = re.compile(
    r"(?:pillar\.get|salt(?:\.|\[['\"])pillar\.get(?:['\"]\])?)\(\s*(?P<quote>['\"])(?P<key>[^'\"\n]*)(?P=quote)"
)
_PILLAR_ITEM = re.compile(r"\bpillar(?P<keys>(?:\[['\"][^'\"\n]*['\"]\])+)")
_ITEM = re.compile(r"\[['\"]([^'\"\n]*)['\"]\]")
_ONE_FUNCTION = re.compile(r"[A-Za-z_]\w*\.\w+")


class State(NamedTuple):
    """One state of an ID: ``function`` is ``pkg.installed`` as the file has it, or a module alone."""

    function: str
    place: Place

    @property
    def module(self) -> str:
        """The state module."""
        return self.function.partition(".")[0]


class Declaration(NamedTuple):
    """An ID with its states, and the names that they give (``name``, ``names``). ``extends``: under ``extend``."""

    id: Word
    states: tuple[State, ...]
    names: tuple[str, ...]
    extends: bool


class Reference(NamedTuple):
    """One requisite: ``keyword`` on ``module: target`` in the declaration of ``holder``; no module for an ID alone."""

    keyword: str
    module: str
    target: Word
    holder: str


class Link(NamedTuple):
    """A reference to a file: ``kind`` is sls (an SLS by its name), salt (``salt://``) or template (a Jinja import)."""

    kind: str
    target: Word


class FileIndex(NamedTuple):
    """The index of one file. ``pillar`` are the keys that its templates read, ``a:b`` for a key within a key."""

    declarations: tuple[Declaration, ...]
    references: tuple[Reference, ...]
    links: tuple[Link, ...]
    pillar: tuple[Word, ...]
    excluded: tuple[Word, ...]
    """IDs that ``exclude`` names."""


EMPTY: Final = FileIndex((), (), (), (), ())


def index(text: str) -> FileIndex:
    """Read a text. Never raises: malformed parts are left out."""
    reader = _Reader()
    for entry in entries(text):
        reader.take(entry)
    links = [*reader.links, *_links(text)]
    return FileIndex(
        reader.declarations(), tuple(reader.references), tuple(links), tuple(_pillar(text)), tuple(reader.excluded)
    )


class _Open:
    """A declaration that is being read: its states by key, and what is known of each."""

    def __init__(self, id_: Word, *, extends: bool) -> None:
        self.id = id_
        self.extends = extends
        self.states: list[State] = []
        self.names: list[str] = []

    def closed(self) -> Declaration:
        return Declaration(self.id, tuple(self.states), tuple(self.names), self.extends)


class _Reader:
    def __init__(self) -> None:
        self.references: list[Reference] = []
        self.links: list[Link] = []
        self.excluded: list[Word] = []
        self._declared: list[_Open] = []

    def declarations(self) -> tuple[Declaration, ...]:
        return tuple(each.closed() for each in self._declared)

    def take(self, entry: Entry) -> None:
        names = entry.names
        if names[:1] == ("include",):
            self._include(entry)
        elif names[:1] == ("exclude",):
            self._exclude(entry)
        elif names[:1] == ("extend",):
            self._below(entry, entry.path[1:], extends=True)
        elif names or entry.key is None or entry.key.text not in DIRECTIVES:
            self._below(entry, entry.path, extends=False)

    def _include(self, entry: Entry) -> None:
        if entry.value is not None and not entry.value.templated and entry.dash:
            self.links.append(Link("sls", entry.value))

    def _exclude(self, entry: Entry) -> None:
        if entry.value is None or not entry.dash:
            return
        if entry.key is None or entry.key.text == "sls":
            self.links.append(Link("sls", entry.value))
        elif entry.key.text == "id":
            self.excluded.append(entry.value)

    def _below(self, entry: Entry, path: tuple[Word, ...], *, extends: bool) -> None:
        if not path:
            if entry.key is not None and not entry.dash:
                self._declared.append(_Open(entry.key, extends=extends))
                if entry.value is not None and _ONE_FUNCTION.fullmatch(entry.value.text):
                    self._declared[-1].states.append(State(entry.value.text, entry.value.place))
            return
        here = self._declared[-1] if self._declared else None
        if here is None or here.id != path[0]:
            return
        if len(path) == 1:
            self._of_id(here, entry)
        elif path[1].text in REQUISITES:
            self._requisite(here, path[1].text, entry, len(path) == 2)
        elif len(path) == 2:
            self._argument(here, entry)
        elif path[2].text in REQUISITES:
            self._requisite(here, path[2].text, entry, len(path) == 3)
        elif path[2].text == "names" and len(path) == 3 and entry.dash:
            word = entry.key or entry.value
            here.names += [word.text] if word is not None else []

    def _of_id(self, here: _Open, entry: Entry) -> None:
        word = entry.key or entry.value
        if word is not None and word.text not in REQUISITES:
            here.states.append(State(word.text, word.place))

    def _argument(self, here: _Open, entry: Entry) -> None:
        if not entry.dash or not here.states or entry.value is None:
            return
        state = here.states[-1]
        if entry.key is None:
            if "." not in state.function and re.fullmatch(r"\w+", entry.value.text):
                here.states[-1] = state._replace(function=f"{state.function}.{entry.value.text}")
        elif entry.key.text == "name":
            here.names.append(entry.value.text)

    def _requisite(self, here: _Open, keyword: str, entry: Entry, direct: bool) -> None:
        if direct and (entry.dash or entry.flow) and entry.value is not None:
            self._refer(here, keyword, "" if entry.key is None else entry.key.text, entry.value)

    def _refer(self, here: _Open, keyword: str, module: str, target: Word) -> None:
        if module == "sls":
            self.links.append(Link("sls", target))
        self.references.append(Reference(keyword, module.partition(".")[0], target, here.id.text))


def _links(text: str) -> list[Link]:
    found: list[Link] = []
    if "salt://" in text:
        plain = masked(text).split("\n")
        for number, line in enumerate(text.split("\n")):
            for match in _SALT_URL.finditer(line):
                place = Place(number, match.start("path"), match.end("path"))
                expression = "\0" in plain[number][place.start : place.end] and "{" in match["path"]
                found.append(Link("salt", Word(match["path"].partition("?")[0], place, expression)))
    if "{%" in text:
        found += [Link("template", word) for word in _words(text, _TEMPLATE, "path")]
    return found


def _pillar(text: str) -> list[Word]:
    if "pillar" not in text:
        return []
    found = list(_words(text, _PILLAR_CALL, "key"))
    items = _words(text, _PILLAR_ITEM, "keys")
    return found + [word._replace(text=":".join(_ITEM.findall(word.text))) for word in items]


def _words(text: str, pattern: re.Pattern[str], group: str) -> list[Word]:
    """Return the matches of a group, which is within one line, as words."""
    words: list[Word] = []
    line = begin = seen = 0
    for found in pattern.finditer(text):
        start = found.start(group)
        line += text.count("\n", seen, start)
        begin = max(begin, text.rfind("\n", seen, start) + 1)
        seen = start
        words.append(Word(found[group], Place(line, start - begin, found.end(group) - begin)))
    return words
