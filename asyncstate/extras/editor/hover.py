"""Hover texts in Markdown: documentation of the word under the pointer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from asyncstate.extras.editor.analysis import MANUAL
from asyncstate.extras.editor.completion import describe
from asyncstate.extras.editor.context import context
from asyncstate.extras.editor.navigation import definitions, referring, subject

if TYPE_CHECKING:
    from asyncstate.extras.editor.knowledge import Knowledge
    from asyncstate.extras.editor.messages import Function
    from asyncstate.extras.editor.navigation import Subject
    from asyncstate.extras.editor.outline import Place
    from asyncstate.extras.editor.tree import At, File

_MOST = 12
"""The number of places that are named; the rest is counted."""


def hover(knowledge: Knowledge, file: File, line: int, column: int) -> tuple[str, Place] | None:
    """Return the documentation of the word at a place, and the word; None if there is none."""
    what = subject(file, line, column)
    if what.kind == "id":
        return _of_id(knowledge, file, what), what.word.place
    if what.kind == "function":
        function = knowledge.functions.get(what.word.text)
        return (_of_function(what.word.text, function), what.word.place) if function else None
    if what.link is not None:
        path = knowledge.tree.target_of(file, what.link)
        return (f"`{path}`" if path else "There is no such file in the tree."), what.word.place
    if what.kind == "pillar":
        return _of_pillar(knowledge, file, line, column, what), what.word.place
    return _of_word(knowledge, file, line, column)


def _of_id(knowledge: Knowledge, file: File, what: Subject) -> str:
    tree = knowledge.tree
    id_ = what.word.text
    declared = tree.declared(what.module, id_)
    lines = [f"**{id_}**"]
    if what.word.templated:
        lines.append("A template writes this ID: it is known after rendering.")
    for other, each in declared:
        states = ", ".join(f"`{state.function}`" for state in each.states) or "no state"
        lines.append(f"{states} in {_place(other, each.id.place.line)}")
    if not declared and not what.word.templated:
        rendered = list(knowledge.rendered(what.module, id_))
        lines += [f"`{state.state}` in {state.sls}, written by a template" for state in rendered[:_MOST]]
        if not rendered:
            lines.append("No SLS file declares it.")
    users = [f"{_place(other, word.place.line)}" for other, word in referring(knowledge, what)]
    if users:
        more = f" and {len(users) - _MOST} more" if len(users) > _MOST else ""
        lines.append(f"Referred to in {', '.join(users[:_MOST])}{more}.")
    elif declared:
        lines.append("No requisite names it.")
    del file
    return "\n\n".join(lines)


def _place(file: File, line: int) -> str:
    return f"{file.relpath}:{line + 1}"


def _of_function(name: str, function: Function) -> str:
    parts = [f"**{name}**", MANUAL.markdown(function.doc)]
    if function.arguments:
        parts.append("\n".join(f"- `{each.name}`: {describe(each)}. {each.meaning}" for each in function.arguments))
    if function.example:
        parts.append(f"```yaml\n{function.example}\n```")
    return "\n\n".join(part for part in parts if part)


def _of_pillar(knowledge: Knowledge, file: File, line: int, column: int, what: Subject) -> str:
    key = what.word.text
    places: list[At] = definitions(knowledge, file, line, column)
    said = [f"**{key}** (pillar)"]
    said += [f"{os.path.basename(at.path)}:{at.place.line + 1}" for at in places[:_MOST]]
    if key in knowledge.seen.pillar:
        said.append("The pillar of this machine has it.")
    elif not places:
        said.append("No pillar file has this key.")
    return "\n\n".join(said)


def _of_word(knowledge: Knowledge, file: File, line: int, column: int) -> tuple[str, Place] | None:
    """Return the documentation of an argument or a keyword."""
    here = context(file.text, line, column)
    word = file.text.split("\n")[here.place.line][here.place.start : here.place.end]
    if here.kind not in {"argument", "id", "function"} and not (here.kind == "state" and MANUAL.page_of(word)):
        return None
    function = knowledge.functions.get(here.function)
    for argument in function.arguments if function else ():
        if argument.name == word:
            return f"**{word}**: {describe(argument)}\n\n{argument.meaning}", here.place
    page = MANUAL.page_of(word)
    if page is None:
        return None
    head = f"**{page.title}**" if page.topic == word else f"**{word}**, a form of {page.title}"
    return f"{head}\n\n{_as_markdown(page.text)}", here.place


def _as_markdown(body: str) -> str:
    """Return the text of a topic, whose lines indented by four spaces are SLS."""
    lines: list[str] = []
    code = False
    for line in body.strip("\n").split("\n"):
        indented = line.startswith("    ")
        if line.strip() and indented != code:
            lines.append("```yaml" if indented else "```")
            code = indented
        lines.append(line[4:] if code else line)
    return "\n".join([*lines, "```"] if code else lines)
