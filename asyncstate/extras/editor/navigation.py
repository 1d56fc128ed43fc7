"""Navigation between words of SLS files: from a requisite to the ID, from an include to the file, and back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.errors import AsyncStateError
from asyncstate.extras.editor.context import context
from asyncstate.extras.editor.outline import Place, Word
from asyncstate.extras.editor.tree import At

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.extras.editor.index import Declaration, Link
    from asyncstate.extras.editor.knowledge import Knowledge
    from asyncstate.extras.editor.tree import File

_TOP = Place(0, 0, 0)
_WORDS_OF_ALL = frozenset({"", "id"})
"""The module of a requisite that names states of any module."""


class Subject(NamedTuple):
    """The subject of the word at the cursor.

    ``kind`` is id (``module: word``; no module for an ID), link, function (a state), pillar, or "".
    """

    kind: str
    word: Word
    module: str = ""
    link: Link | None = None
    declares: bool = False


NOTHING = Subject("", Word("", _TOP))


def subject(file: File, line: int, column: int) -> Subject:
    """Return the subject at a cursor, from the index of the file."""
    for link in file.found.links:
        if link.target.place.holds(line, column):
            return Subject("link", link.target, link=link)
    for declared in file.found.declarations:
        if declared.id.place.holds(line, column):
            return Subject("id", declared.id, declares=not declared.extends)
        for state in declared.states:
            if state.place.holds(line, column):
                return Subject("function", Word(state.function, state.place))
    for reference in file.found.references:
        if reference.target.place.holds(line, column):
            return Subject("id", reference.target, reference.module.removeprefix("id"))
    for word in file.found.excluded:
        if word.place.holds(line, column):
            return Subject("id", word)
    for word in file.keys:
        if word.place.holds(line, column):
            return Subject("pillar", word)
    here = context(file.text, line, column)
    if here.kind == "pillar":
        key = file.text.split("\n")[here.place.line][here.place.start : here.place.end]
        return Subject("pillar", Word(":".join([*here.above, key]), here.place))
    return NOTHING


def definitions(knowledge: Knowledge, file: File, line: int, column: int) -> list[At]:
    """Return the places that declare the subject at a cursor."""
    tree = knowledge.tree
    what = subject(file, line, column)
    if what.link is not None:
        path = tree.target_of(file, what.link)
        return [At(path, _TOP)] if path else []
    if what.kind == "id":
        found = [At(other.path, declared.id.place) for other, declared in tree.declared(what.module, what.word.text)]
        return found or list(
            dict.fromkeys(
                At(state.file, Place(state.line - 1, 0, 0))
                for state in knowledge.rendered(what.module, what.word.text)
                if state.file and state.line
            )
        )
    if what.kind == "function":
        return list(_source(knowledge, what.word.text))
    if what.kind == "pillar":
        return [
            At(other.path, word.place)
            for other in tree.pillar.values()
            for word in other.keys
            if word.text == what.word.text
        ]
    return []


def _source(knowledge: Knowledge, name: str) -> Iterator[At]:
    """Yield the place of a state function in its module."""
    function = knowledge.functions.get(name)
    if function is None or not function.file.endswith(".py"):
        return
    from asyncstate.filesystem.reading import open_text

    wanted = re.compile(rf"(?:async )?def {re.escape(name.partition('.')[2])}_?\(")
    try:
        with open_text(function.file) as text:
            number = next((number for number, line in enumerate(text) if wanted.match(line)), 0)
    except (OSError, ValueError, AsyncStateError):
        return
    yield At(function.file, Place(number, 0, 0))


def means(declared: Declaration, module: str, target: str) -> bool:
    """Return whether ``module: target`` names a state of a declaration."""
    known = {state.module for state in declared.states}
    if module not in _WORDS_OF_ALL and known and module not in known:
        return False
    return target == declared.id.text or (target in declared.names and module not in _WORDS_OF_ALL)


def references(knowledge: Knowledge, file: File, line: int, column: int, *, declaration: bool) -> list[At]:
    """Return the places that refer to the subject at a cursor; with ``declaration`` also its declarations."""
    tree = knowledge.tree
    what = subject(file, line, column)
    found = definitions(knowledge, file, line, column) if declaration else []
    if what.link is not None:
        path = tree.target_of(file, what.link)
        return [
            At(other.path, link.target.place)
            for other, link in tree.links()
            if path and link.kind == what.link.kind and tree.target_of(other, link) == path
        ]
    if what.kind == "id":
        found += [At(other.path, word.place) for other, word in referring(knowledge, what)]
    elif what.kind == "function":
        found += [
            At(other.path, state.place)
            for other in tree.files.values()
            for declared in other.found.declarations
            for state in declared.states
            if state.function == what.word.text
        ]
    elif what.kind == "pillar":
        found += [
            At(other.path, word.place)
            for other in tree.files.values()
            for word in other.found.pillar
            if word.text == what.word.text or word.text.startswith(f"{what.word.text}:")
        ]
    return list(dict.fromkeys(found))


def referring(knowledge: Knowledge, what: Subject) -> list[tuple[File, Word]]:
    """Return the words of the tree that name the same states as an ID: requisites, ``extend``, ``exclude``."""
    tree = knowledge.tree
    meant = [declared for _, declared in tree.declared(what.module, what.word.text)]
    ids = {declared.id.text for declared in meant} or {what.word.text}
    found = [
        (file, reference.target)
        for file, reference in tree.references()
        if reference.module != "sls"
        and (
            any(means(declared, reference.module, reference.target.text) for declared in meant)
            or (not meant and reference.target.text == what.word.text)
        )
    ]
    for file in tree.files.values():
        found += [(file, each.id) for each in file.found.declarations if each.extends and each.id.text in ids]
        found += [(file, word) for word in file.found.excluded if word.text in ids]
    return found
