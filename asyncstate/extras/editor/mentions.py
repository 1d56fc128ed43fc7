"""The words of one SLS file that declare or name an ID, exactly, as YAML reads them.

`index` reads unfinished texts, for answers that may miss a word. An edit of a tree must miss none: here the text is
parsed as YAML, with its templates masked, and a text that does not parse is refused with the reason.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import yaml

from asyncstate.data.standard_yaml import compose_nodes
from asyncstate.data.yaml.scalar import read_plain
from asyncstate.extras.editor.branches import Branches
from asyncstate.extras.editor.index import DIRECTIVES, REQUISITES
from asyncstate.extras.editor.outline import HOLE, Place, is_sls_data, masked
from asyncstate.model.requisite import HOST

if TYPE_CHECKING:
    from collections.abc import Iterator

_LETTER: Final = "\ue000"
"""The placeholder for each character of a template expression in the text that YAML reads."""
_BREAKS: Final = str.maketrans(dict.fromkeys("\r\x85\u2028\u2029", _LETTER) | {HOLE: _LETTER})
"""Characters that end a line in YAML and not in editors."""
_TEMPLATE: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)


class Scalar(NamedTuple):
    """A word of a file. ``place`` includes its quotation marks, which are ``style``.

    ``templated``: a template computes it; ``pinned`` says why it cannot be replaced, "" if it can.
    """

    text: str
    place: Place
    style: str
    templated: bool
    pinned: str

    @property
    def line(self) -> int:
        """The line as people count."""
        return self.place.line + 1

    def may_be(self, text: str) -> bool:
        """Return whether a template may compute a text here."""
        if not self.templated or "{%" in self.text:
            return self.templated
        return re.fullmatch(_alternative(self.text), text) is not None

    @property
    def says_nothing(self) -> bool:
        """Whether a template computes all of the text."""
        return "{%" in self.text or not _TEMPLATE.sub("", self.text).strip()


class Slot(NamedTuple):
    """The place for a new argument of a state, with the text ``before`` and ``after`` it, or why it is ``refused``."""

    place: Place
    before: str = ""
    after: str = ""
    refused: str = ""

    def filled(self, argument: str) -> str:
        """Return the text to write at the place."""
        return f"{self.before}{argument}{self.after}"


class StateOf(NamedTuple):
    """A state of an ID. ``module`` is "" if a template computes it; ``function`` is "" under ``extend``, for example.

    ``names`` are those that it gives itself; ``unnamed``: its name is, or may be, the ID. ``computed``: a template
    computes a name. ``odd`` is the line of a name that is no text, or 0. ``values`` are all texts among its arguments.
    """

    module: str
    function: str
    line: int
    names: tuple[str, ...]
    unnamed: bool
    computed: bool
    odd: int
    values: frozenset[str]
    slot: Slot


class Declared(NamedTuple):
    """An ID with its states, or what ``extends`` one."""

    id: Scalar
    states: tuple[StateOf, ...]
    extends: bool


class Holder(NamedTuple):
    """The state that has a requisite: its ID and its module, "" if all states of the ID have it."""

    id: str
    module: str


class Mention(NamedTuple):
    """A word that names an ID: in a requisite of ``holder``, or in ``exclude``.

    ``module`` is "" for an ID of any module, and ``sls`` for what names an SLS in place of an ID.
    """

    keyword: str
    module: str
    target: Scalar
    holder: Holder

    @property
    def names_holder(self) -> bool:
        """Whether the holder's ID is resolved, too: other states refer to it, or it is called once more."""
        return self.keyword == "listen" or self.keyword.endswith("_in")

    @property
    def inward(self) -> bool:
        """Whether it is resolved before names are known: to an ID, or if there is none to the value of an argument."""
        return self.keyword in {"use", "use_in"} or (self.keyword.endswith("_in") and self.keyword != "listen_in")


class Reading(NamedTuple):
    """All words of a file about IDs; or the ``problem`` that prevents reading it, and its line."""

    declared: tuple[Declared, ...] = ()
    mentions: tuple[Mention, ...] = ()
    problem: str = ""
    line: int = 0


@lru_cache(maxsize=8192)
def read(text: str) -> Reading:
    """Read a text. Never raises."""
    if not is_sls_data(text):
        return Reading(problem=f"it is written in another language than YAML: {text.partition(chr(10))[0]}", line=1)
    plain = "\n".join(line.translate(_BREAKS) if line.strip(f" {HOLE}") else "" for line in masked(text).split("\n"))
    try:
        root = compose_nodes(plain)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return Reading(problem=error.problem or error.context or "no YAML", line=mark.line + 1 if mark else 1)
    except yaml.YAMLError as error:
        return Reading(problem=str(error).partition("\n")[0], line=1)
    if root is None:
        return Reading()
    if not isinstance(root, yaml.MappingNode):
        return Reading(problem="it is no mapping of IDs", line=root.start_mark.line + 1)
    reader = _Reader(text, plain)
    reader.top(root)
    return Reading(tuple(reader.declared), tuple(reader.mentions))


@lru_cache(maxsize=256)
def _alternative(text: str) -> str:
    """Return the pattern of what a text with template expressions may be after rendering."""
    parts = _TEMPLATE.split(text)
    return "(?s:.*)".join(map(re.escape, parts))


Pair = tuple[yaml.Node, yaml.Node, bool]
"""A key, its value, and whether they stand in flow style."""


class _Reader:
    def __init__(self, text: str, plain: str) -> None:
        self.declared: list[Declared] = []
        self.mentions: list[Mention] = []
        self._lines = text.split("\n")
        self._plain = plain.split("\n")
        self._branches = Branches(text)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def top(self, root: yaml.MappingNode) -> None:
        for key, value, flow in _pairs(root):
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value == "extend":
                for id_, body, inner in _pairs(value, flow=flow):
                    if isinstance(id_, yaml.ScalarNode):
                        self._body(id_, body, flow=inner, extends=True)
            elif key.value == "exclude":
                for item in _items(value):
                    for kind, name, _ in _pairs(item):
                        if _text(kind) == "id" and isinstance(name, yaml.ScalarNode):
                            self.mentions.append(Mention("exclude", "", self.scalar(name), Holder("", "")))
            elif key.value not in DIRECTIVES:
                self._body(key, value, flow=flow, extends=False)

    def _body(self, id_: yaml.ScalarNode, body: yaml.Node, *, flow: bool, extends: bool) -> None:
        states: list[StateOf] = []
        word = self.scalar(id_)
        if isinstance(body, yaml.ScalarNode):
            if "." in body.value or _LETTER in body.value:
                states.append(self._short(id_, body, flow=flow))
        elif isinstance(body, yaml.MappingNode):
            lent = "its body has an anchor" if self._anchored(body) else ""
            for key, value, inner in self._merged(body, flow=flow):
                name = _text(key)
                if name in REQUISITES:
                    self.requisite(name, value, Holder(word.text, ""))
                elif isinstance(key, yaml.ScalarNode) and not key.value.startswith("_"):
                    refused = lent or ("" if inner is not None else "it comes from an alias")
                    states.append(self._state(key, value, flow=bool(inner), refused=refused, id_=word.text))
        if extends or any(state.function for state in states):
            self.declared.append(Declared(word, tuple(states), extends))

    def _merged(self, body: yaml.MappingNode, *, flow: bool) -> Iterator[tuple[yaml.Node, yaml.Node, bool | None]]:
        """Yield the pairs of a body with those that ``<<`` brings; these have no style of their own."""
        for key, value, inner in _pairs(body, flow=flow):
            if _text(key) != "<<":
                yield key, value, inner
                continue
            for source in [value] if isinstance(value, yaml.MappingNode) else _items(value):
                for lent, arguments, _ in _pairs(source):
                    yield lent, arguments, None

    # states

    def _short(self, id_: yaml.ScalarNode, body: yaml.ScalarNode, *, flow: bool) -> StateOf:
        """Read ``id: module.function``: to take an argument it becomes a mapping."""
        function = self.scalar(body)
        module = "" if function.templated else function.text.partition(".")[0]
        line, column = id_.start_mark.line, id_.start_mark.column
        place = function.place
        alone = not self._lines[line][:column].strip() and place.line == line
        if function.pinned or function.templated:
            slot = Slot(place, refused=function.pinned or "a template computes its function")
        elif flow or not alone:
            slot = Slot(place, f"{{{function.text}: [{{", "}]}")
        else:
            indent = " " * (column + 2)
            colon = self._lines[line].index(":", id_.end_mark.column) + 1
            slot = Slot(Place(line, colon, place.end), f"\n{indent}{function.text}:\n{indent}  - ")
        return StateOf(module, function.text, function.line, (), True, False, 0, frozenset(), slot)

    def _state(self, key: yaml.ScalarNode, value: yaml.Node, *, flow: bool, refused: str, id_: str) -> StateOf:
        word = self.scalar(key)
        module, _, function = ("", "", word.text) if word.templated else word.text.partition(".")
        reader = _Arguments(self, key)
        items = list(_items(value))
        for item in items:
            reader.take(item, Holder(id_, module))
        slot = Slot(word.place, refused=refused) if refused else self._slot(key, value, items, flow=flow)
        return StateOf(
            module,
            function or reader.function,
            word.line,
            tuple(reader.names),
            not reader.named,
            reader.computed,
            reader.odd,
            frozenset(reader.values),
            slot,
        )

    def _slot(self, key: yaml.Node, value: yaml.Node, items: list[yaml.Node], *, flow: bool) -> Slot:
        """Return where the first argument of a state goes: there a later one of the same name still counts."""
        line, column = value.start_mark.line, value.start_mark.column
        if not isinstance(value, yaml.SequenceNode):
            return Slot(Place(line, column, column), refused="its arguments are no list that can be read")
        if self._anchored(value):
            return Slot(Place(line, column, column), refused="its arguments have an anchor")
        if flow or value.flow_style:
            if items and isinstance(items[0], yaml.ScalarNode):
                mark = items[0].end_mark
                return Slot(Place(mark.line, mark.column, mark.column), ", {", "}")
            place = Place(line, column + 1, column + 1)
            return Slot(place, "{", "}, " if items or self._holds_template(value) else "}")
        above = key.end_mark.line
        if self._plain[above].rstrip() != self._lines[above].rstrip() and _TEMPLATE.search(
            self._lines[above], key.end_mark.column
        ):
            return Slot(Place(line, column, column), refused="a template follows it on the line")
        if items and isinstance(items[0], yaml.ScalarNode) and items[0].end_mark.line == above + 1:
            above += 1
        end = len(self._lines[above])
        return Slot(Place(above, end, end), f"\n{' ' * column}- ")

    # words

    def requisite(self, keyword: str, value: yaml.Node, holder: Holder) -> None:
        """Take a requisite: a list of words and pairs, or one mapping."""
        for item in [value] if isinstance(value, yaml.MappingNode) else _items(value):
            if isinstance(item, yaml.ScalarNode):
                self.mentions.append(Mention(keyword, "", self.scalar(item), holder))
            for module, target, _ in _pairs(item):
                name = _text(module)
                if name is not None and name != HOST and isinstance(target, yaml.ScalarNode):
                    named = name.partition(".")[0]
                    named = "" if named == "id" or _LETTER in named else named
                    self.mentions.append(Mention(keyword, named, self.scalar(target), holder))

    def branch(self, node: yaml.Node) -> tuple[int, ...]:
        """Return the template blocks around a node."""
        return self._branches.at(self._starts[node.start_mark.line] + node.start_mark.column)

    def scalar(self, node: yaml.ScalarNode) -> Scalar:
        """Return a word with its place."""
        start, end = node.start_mark, node.end_mark
        line = self._lines[start.line]
        if start.line != end.line:
            place = Place(start.line, start.column, len(line))
            return Scalar(
                node.value, place, node.style or "", _LETTER in node.value, "it is written over several lines"
            )
        raw = line[start.column : end.column]
        templated = self._plain[start.line][start.column : end.column] != raw
        pinned = ""
        if raw[:1] != node.style if node.style else raw[:1] in {"&", "!"}:
            pinned = "it has an anchor or a tag"
        elif not (node.style or templated or _is_text(raw)):
            pinned = "without quotation marks it is no text"
        text = (raw[1:-1] if node.style else raw) if templated else node.value
        return Scalar(text, Place(start.line, start.column, end.column), node.style or "", templated, pinned)

    def _anchored(self, node: yaml.Node) -> bool:
        return self._lines[node.start_mark.line][node.start_mark.column :][:1] in {"&", "!"}

    def _holds_template(self, node: yaml.Node) -> bool:
        first, last = node.start_mark.line, node.end_mark.line
        return self._plain[first : last + 1] != self._lines[first : last + 1]


class _Arguments:
    """The arguments of one state: its names, and its references."""

    def __init__(self, reader: _Reader, key: yaml.Node) -> None:
        self._reader = reader
        self._branch = reader.branch(key)
        self.function = ""
        self.names: list[str] = []
        self.named = False
        self.computed = False
        self.odd = 0
        self.values: set[str] = set()

    def take(self, item: yaml.Node, holder: Holder) -> None:
        """Take an item of the list."""
        if isinstance(item, yaml.ScalarNode):
            self.function = self.function or item.value
        for key, value, _ in _pairs(item):
            name = _text(key)
            if name in REQUISITES:
                self._reader.requisite(name, value, holder)
            elif name == "name":
                self._name(value, always=self._reader.branch(key) == self._branch)
            elif name == "names":
                self.computed = self.computed or not isinstance(value, yaml.SequenceNode)
                for each in _items(value):
                    self._listed(each, holder)
                    self.named = self.named or self._reader.branch(each) == self._branch
            if isinstance(value, yaml.ScalarNode):
                self.values.add(value.value)

    def _name(self, value: yaml.Node, *, always: bool) -> None:
        word = self._reader.scalar(value) if isinstance(value, yaml.ScalarNode) else None
        if word is not None and word.templated:
            self.computed = True
        elif word is not None and (word.style or _is_text(word.text)):
            self.names.append(word.text)
        else:
            self.odd = value.start_mark.line + 1
            return
        self.named = self.named or always

    def _listed(self, each: yaml.Node, holder: Holder) -> None:
        """Take an entry of ``names``: a name, or one with arguments of its own."""
        for name, overrides, _ in [(each, None, False)] if isinstance(each, yaml.ScalarNode) else _pairs(each):
            if not isinstance(name, yaml.ScalarNode):
                continue
            word = self._reader.scalar(name)
            self.computed = self.computed or word.templated
            self.names += [] if word.templated else [word.text]
            for override in _items(overrides):
                for key, value, _ in _pairs(override):
                    if (keyword := _text(key)) in REQUISITES:
                        self._reader.requisite(keyword, value, holder)


def _is_text(plain: str) -> bool:
    try:
        return isinstance(read_plain(plain), str)
    except ValueError:
        return False


def _text(node: yaml.Node) -> str | None:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else None


def _pairs(node: yaml.Node, *, flow: bool = False) -> Iterator[Pair]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key, value, flow or bool(node.flow_style)


def _items(node: yaml.Node | None) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from node.value
