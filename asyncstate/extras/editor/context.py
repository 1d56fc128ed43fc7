"""The context of the cursor: a state, an argument, a requisite's target, a path, a pillar key. No text raises."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from asyncstate.extras.editor.index import DIRECTIVES, REQUISITES
from asyncstate.extras.editor.outline import KEY, START, Place, at_cursor, is_sls_data, path_at

if TYPE_CHECKING:
    from asyncstate.extras.editor.outline import Entry, Within, Word

_FAR: Final = 2000
"""The number of characters before the cursor in which a template statement is looked for."""
_SALT_URL = re.compile(r"salt://(?P<word>[^\s'\"|,]*)\Z")
_TEMPLATE = re.compile(r"\{%-?\s*(?:import|from|include|extends)\s+['\"](?P<word>[^'\"\n]*)\Z")
_CALL = re.compile(
    r"\b(?:(?P<what>pillar|grains)\.get|salt(?:\.|\[['\"])(?P<called>pillar|grains)\.get(?:['\"]\])?)"
    r"\(\s*['\"](?P<word>[^'\"\n]*)\Z"
)
_ITEM = re.compile(r"\b(?P<what>pillar|grains)(?P<above>(?:\[['\"][^'\"\n]*['\"]\])*)\[['\"](?P<word>[^'\"\n]*)\Z")
_ATTRIBUTE = re.compile(r"\b(?P<what>pillar|grains)(?P<above>(?:\.\w+)*)\.(?P<word>\w*)\Z")
_DELIMITER = re.compile(r"\{\{|\{%|\}\}|%\}")
_KEYS = re.compile(r"[^\[\]'\".]+")
_WORD = re.compile(r"[^\s'\"]*")
_REST: Final = {
    "salt": re.compile(r"[^\s'\"|,\]})]*"),
    "template": re.compile(r"[^'\"\n]*"),
    "target": re.compile(r"[^,}\]'\"\n]*"),
    "attribute": re.compile(r"\w*"),
    "flow": re.compile(r"[^\s,:\[\]{}'\"]*"),
}


class Context(NamedTuple):
    """The context of the word at the cursor.

    ``kind`` is one of: id (at the left margin), extended (an ID under ``extend``), state, function (of a module that
    stands alone), argument, value (of an argument), module (of a requisite), target (of a requisite), include, salt,
    template, pillar, grain, or "" for anything else. ``prefix`` is the part of the word before the cursor, ``place``
    the whole word. ``function`` is the state around it, ``keyword`` the requisite or the argument, ``module`` is a
    target's; ``above`` are the keys above a pillar key. ``dash``: the line has the dash of a list item.
    """

    kind: str
    prefix: str
    place: Place
    function: str = ""
    keyword: str = ""
    module: str = ""
    above: tuple[str, ...] = ()
    dash: bool = False


def context(text: str, line: int, column: int) -> Context:
    """Return the context of a cursor: line and column from 0, in characters. Places beyond the text are its end."""
    lines = text.split("\n")
    line = max(0, min(line, len(lines) - 1))
    column = max(0, min(column, len(lines[line])))
    cursor = _Cursor(lines[line], line, column)
    return _in_template(lines, cursor) or _in_url(cursor) or _in_data(text, cursor)


class _Cursor(NamedTuple):
    text: str
    line: int
    column: int

    @property
    def before(self) -> str:
        return self.text[: self.column]

    def context(self, kind: str, prefix: str, rest: re.Pattern[str] = _WORD, **more: Any) -> Context:
        """Return a context whose word is the prefix and the characters after it that match ``rest``."""
        following = rest.match(self.text, self.column)
        end = following.end() if following else self.column
        place = Place(self.line, self.column - len(prefix), end)
        return Context(kind, prefix, place)._replace(**more)

    def nothing(self) -> Context:
        return Context("", "", Place(self.line, self.column, self.column))


def _in_template(lines: list[str], cursor: _Cursor) -> Context | None:
    """Return the context inside a template statement or expression; None outside."""
    before = cursor.before
    number = cursor.line
    while number > 0 and len(before) < _FAR and not _DELIMITER.search(before):
        number -= 1
        before = f"{lines[number]}\n{before}"
    begin = max(before.rfind("{{"), before.rfind("{%"))
    if begin < 0 or max(before.rfind("}}"), before.rfind("%}")) > begin:
        return None
    if number < cursor.line and not _closes(lines, cursor):
        return None
    inside = before[begin:]
    if found := _SALT_URL.search(inside):
        return cursor.context("salt", found["word"], _REST["salt"])
    if found := _TEMPLATE.search(inside):
        return cursor.context("template", found["word"], _REST["template"])
    if found := _CALL.search(inside):
        kind = (found["what"] or found["called"]).removesuffix("s")
        return cursor.context(kind, found["word"], _REST["template"])
    for pattern, rest in ((_ITEM, "template"), (_ATTRIBUTE, "attribute")):
        if found := pattern.search(inside):
            above = tuple(_KEYS.findall(found["above"]))
            return cursor.context(found["what"].removesuffix("s"), found["word"], _REST[rest], above=above)
    return cursor.nothing()


def _closes(lines: list[str], cursor: _Cursor) -> bool:
    """Return whether the next delimiter after a cursor ends a statement: an unclosed one is only its line."""
    after = cursor.text[cursor.column :]
    for number in range(cursor.line, len(lines)):
        if found := _DELIMITER.search(after if number == cursor.line else lines[number]):
            return found[0] in {"}}", "%}"}
    return False


def _in_url(cursor: _Cursor) -> Context | None:
    found = _SALT_URL.search(cursor.before)
    return cursor.context("salt", found["word"], _REST["salt"]) if found else None


def _in_data(text: str, cursor: _Cursor) -> Context:
    """Return the context in the data of an SLS file."""
    start = START.match(cursor.text)
    if start is None or re.search(r"(?:^|\s)#", cursor.before) or not is_sls_data(text):
        return cursor.nothing()
    rest = min(start.end(), len(cursor.text))
    if not cursor.text.strip():
        rest, indent = cursor.column, cursor.column
    elif cursor.column < rest:
        return cursor.nothing()
    else:
        indent = len(start["indent"])
    dash = bool(start["dashes"])
    found, flow = at_cursor(text, cursor.line, cursor.column)
    if flow is not None:
        return _in_flow(cursor, found, flow)
    if any(entry.line == cursor.line for entry in found) or not cursor.text.strip() or dash or indent == rest:
        path = path_at(found, cursor.line, indent, dash=dash)
    else:
        return cursor.nothing()
    key = KEY.match(cursor.text, rest, rest + _FAR // 2)
    here = _Here(cursor, found, path, dash=dash)
    if key is not None and cursor.column > key.end("key"):
        return here.value(key["key"].strip("'\""), cursor.text[key.end() : cursor.column].lstrip())
    return here.word(cursor.text[rest : cursor.column], re.compile(r"[^:]*?(?=\s*(?::\s|:?$))"))


def _in_flow(cursor: _Cursor, found: list[Entry], flow: Within) -> Context:
    """Return the context in flow style."""
    prefix = cursor.text[flow.start : cursor.column]
    here = _Here(cursor, found, flow.above, dash=flow.dash)
    if flow.key is not None:
        return here.value(flow.key.text, prefix)
    return here.word(prefix, _REST["flow"], listed=flow.listed)


class _Here:
    """A line of data: ``path`` has the keys above it."""

    def __init__(self, cursor: _Cursor, found: list[Entry], path: tuple[Word, ...], *, dash: bool) -> None:
        self._cursor = cursor
        self._entries = found
        self._extends = bool(path) and path[0].text == "extend"
        self._words = path[1:] if self._extends else path
        self._names = tuple(word.text for word in self._words)
        self._dash = dash

    def word(self, prefix: str, rest: re.Pattern[str], *, listed: bool = False) -> Context:
        """Return the context of a key or a keyless list item; ``listed``: an item in flow style, outside of braces."""
        quoted = prefix[:1] in {"'", '"'}
        prefix = prefix[1:] if quoted else prefix
        rest = _REST["template"] if quoted else rest
        names, cursor = self._names, self._cursor
        if not names:
            kind = ("extended" if self._extends else "id") if not self._dash else ""
        elif names[0] in DIRECTIVES:
            kind = "include" if names[0] == "include" and self._dash and len(names) == 1 else ""
        elif len(names) == 1:
            kind = "" if self._dash else "state"
        elif names[-1] in REQUISITES and len(names) <= 3 and listed:
            return self._target("id", prefix, names[-1])
        elif names[-1] in REQUISITES and len(names) <= 3:
            return cursor.context("module", prefix, rest, keyword=names[-1], function=self._function(), dash=self._dash)
        elif len(names) == 2:
            function = self._function()
            kind = "argument" if "." in function else "function"
            return cursor.context(kind, prefix, rest, function=function, dash=self._dash)
        else:
            kind = ""
        return cursor.context(kind, prefix, rest, dash=self._dash)

    def value(self, key: str, prefix: str) -> Context:
        """Return the context of a key's value."""
        bare = prefix[1:] if prefix[:1] in {"'", '"'} else prefix
        names, cursor = self._names, self._cursor
        if not names:
            return cursor.context("" if key in DIRECTIVES else "state", bare)
        if names[0] == "include":
            return cursor.context("include", bare)
        if names[0] == "exclude":
            return self._target(key, bare, "exclude")
        if names[-1] in REQUISITES and 2 <= len(names) <= 3:
            return self._target(key, bare, names[-1])
        if len(names) == 2 and self._dash and bare[:1] not in {"[", "{"}:
            return cursor.context("value", bare, function=self._function(), keyword=key)
        return cursor.nothing()

    def _target(self, key: str, prefix: str, keyword: str) -> Context:
        if key == "sls":
            return self._cursor.context("include", prefix, keyword=keyword, module="sls")
        module = "" if key == "id" else key
        return self._cursor.context("target", prefix, _REST["target"], keyword=keyword, module=module)

    def _function(self) -> str:
        """Return the state around the line, with the function that an item of its list names."""
        if len(self._words) < 2:
            return ""
        name = self._words[1].text
        if "." in name or name in REQUISITES:
            return name
        for entry in self._entries:
            same = len(entry.path) > 1 and entry.path[-1] == self._words[1]
            if not same or entry.key is not None or entry.value is None:
                continue
            if entry.value.place.holds(self._cursor.line, self._cursor.column):
                continue
            if re.fullmatch(r"\w+", entry.value.text):
                return f"{name}.{entry.value.text}"
        return name
