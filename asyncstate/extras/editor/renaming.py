"""Renaming an ID: every place of the tree that names it, or the reason for a refusal.

The tree compiles to the same states afterwards, but for the ID. So a state whose name is its ID gets that name as an
argument, and each requisite must still mean the states that it meant before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn

from asyncstate.errors import AsyncStateError
from asyncstate.extras.editor.mentions import read
from asyncstate.extras.editor.navigation import subject
from asyncstate.extras.editor.outline import Place, Word
from asyncstate.extras.editor.scope import Here, Scope, fits
from asyncstate.extras.editor.spelling import spelled, unsayable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.extras.editor.knowledge import Knowledge
    from asyncstate.extras.editor.mentions import Declared, Mention, Scalar, StateOf
    from asyncstate.extras.editor.tree import File


class RenameRefused(AsyncStateError):
    """An ID cannot be renamed without changing the tree: the text says why, and where."""


class Edit(NamedTuple):
    """A part of a file and the text that replaces it."""

    path: str
    place: Place
    text: str


class Renaming(NamedTuple):
    """The edits that rename an ID, and the places that a template computes and this machine does not render."""

    edits: list[Edit]
    unseen: list[str]


def prepare(knowledge: Knowledge, file: File, line: int, column: int) -> Word | None:
    """Return the ID at a cursor, without its quotation marks; None if there is no ID. Raises RenameRefused."""
    found = _word_at(knowledge, file, line, column)
    if found is None:
        return None
    word, module = found
    _Renamer(knowledge, file, word.text, module)
    marks = int(bool(word.style))
    return Word(word.text, Place(word.place.line, word.place.start + marks, word.place.end - marks))


def rename(knowledge: Knowledge, file: File, line: int, column: int, new: str) -> Renaming:
    """Return the edits that rename the ID at a cursor. Raises RenameRefused."""
    found = _word_at(knowledge, file, line, column)
    if found is None:
        raise RenameRefused("there is no ID here: put the cursor on one, or on a requisite that names one")
    if reason := unsayable(new):
        raise RenameRefused(f"{new!r} cannot be an ID: {reason}")
    word, module = found
    renamer = _Renamer(knowledge, file, word.text, module)
    return Renaming([], []) if new == word.text else renamer.to(new)


def _word_at(knowledge: Knowledge, file: File, line: int, column: int) -> tuple[Scalar, str] | None:
    """Return the word at a cursor that declares or names an ID, and the module of a requisite. Raises RenameRefused."""
    if not Scope.holds(knowledge.tree, file):
        if file.path in knowledge.tree.files and subject(file, line, column).kind == "id":
            raise RenameRefused(f"{file.path} is no SLS file of the tree")
        return None
    reading = read(file.text)
    if reading.problem and (subject(file, line, column).kind == "id" or reading.line == 1):
        raise RenameRefused(f"{file.relpath}:{reading.line} cannot be read: {reading.problem}")
    words = [(each.id, "") for each in reading.declared]
    words += [(each.target, each.module) for each in reading.mentions if each.module != "sls"]
    found = next((each for each in words if each[0].place.holds(line, column)), None)
    if found is not None and found[0].templated:
        raise RenameRefused(
            f"a template computes the ID '{found[0].text}' in {file.relpath}:{found[0].line}: change the template"
        )
    return found


class _Renamer:
    """Renames one ID of a tree."""

    def __init__(self, knowledge: Knowledge, file: File, old: str, module: str) -> None:
        self._old = old
        self._scope = Scope(knowledge, file, old)
        self._new = ""
        self._called_inwards = ""
        if not self._scope.declared:
            self._refuse(self._scope.why_undeclared())
        if not self._scope.has(module):
            self._refuse(f"'{module}: {old}' does not mean it, for it has no state of '{module}'")
        if other := self._scope.also_rendered_in():
            self._refuse(f"{other} declares it too, by a template or in another language than YAML")

    def to(self, new: str) -> Renaming:
        """Return the edits that rename the ID."""
        self._new = new
        if place := self._scope.declares(new):
            self._refuse(f"the ID '{new}' is already declared in {place}")
        edits = [*self._words(), *self._kept_names()]
        for reason in self._scope.obscure(new):
            self._refuse(reason)
        for path in {edit.path for edit in edits}:
            if target := self._scope.tree.roots.leads_outside(path):
                self._refuse(f"{path} is a link to {target}, which is outside of the tree")
        return Renaming(list(dict.fromkeys(edits)), self._scope.unseen)

    def _refuse(self, reason: str) -> NoReturn:
        goal = f" to '{self._new}'" if self._new else ""
        raise RenameRefused(f"the ID '{self._old}' cannot be renamed{goal}: {reason}")

    def _words(self) -> Iterator[Edit]:
        """Yield the words to replace. Refuse if another requisite would change its meaning."""
        for here, declared in self._scope.everything():
            if declared.id.text == self._old and not declared.id.templated:
                yield self._replaced(here, declared.id)
            elif declared.extends and declared.id.text == self._new:
                self._hold(here, declared.id, self._by_value(declared))
        for here, mention in self._scope.mentions():
            if mention.inward and self._means(mention):
                self._called_inwards = here.place(mention.target.line)
        for here, mention in self._scope.mentions():
            if mention.holder.id == self._old and mention.names_holder:
                self._hold_apart(here.place(mention.target.line), mention.holder.module)
            if self._means(mention):
                if mention.keyword != "exclude" and not mention.inward:
                    self._hold_apart(here.place(mention.target.line), mention.module)
                yield self._replaced(here, mention.target)
            else:
                self._keep(here, mention)

    def _means(self, mention: Mention) -> bool:
        if mention.target.templated or mention.target.text != self._old:
            return False
        return mention.keyword == "exclude" or self._scope.has(mention.module)

    def _replaced(self, here: Here, word: Scalar) -> Edit:
        if word.pinned:
            self._refuse(f"it cannot be replaced in {here.place(word.line)}: {word.pinned}")
        return Edit(here.file.path, word.place, spelled(self._new, word.style))

    def _kept_names(self) -> Iterator[Edit]:
        """Yield the names of the states that are named by the ID."""
        for here, declared, state in self._scope.states():
            adds = not declared.extends or (state.function and not self._scope.is_declared(state.module))
            if not state.unnamed or not adds:
                continue
            if state.odd:
                self._refuse(
                    f"the name in {here.place(state.odd)} is no text, so that the ID counts: quote or remove it"
                )
            if state.slot.refused:
                if self._scope.never_named_by_id(here, state.module):
                    continue
                self._refuse(
                    f"it is the name of '{_shown(state.module, state.function)}' in {here.place(state.line)}, which "
                    f"takes no other: {state.slot.refused}; give the state a name there first"
                )
            if state.names or state.computed:
                self._hold_by_name(state)
            yield Edit(here.file.path, state.slot.place, state.slot.filled(f"name: {spelled(self._old)}"))

    def _hold_by_name(self, state: StateOf) -> None:
        """Refuse if a state that gets a second name is found by an argument: an argument given twice is not found."""
        values = self._scope.values(state.module)
        for here, mention in self._scope.mentions():
            word = mention.target
            if mention.inward and mention.module in {"", state.module} and word.text in values - {self._old}:
                self._refuse(f"'{word.text}' in {here.place(word.line)} means it by a name that only a branch has")

    # what other requisites mean

    def _hold_apart(self, place: str, module: str) -> None:
        """Refuse if the ID in a requisite means, or would mean, another state of a module too, by its name."""
        for name in (self._old, self._new):
            other = self._scope.named(module, name)
            if other is not None and (name == self._new or not self._scope.alone(module, name)):
                verb = "means" if name == self._old else "would mean"
                self._refuse(
                    f"the requisite in {place} {verb} '{other.id}' too, a state with the name '{name}' in {other.place}"
                )

    def _keep(self, here: Here, mention: Mention) -> None:
        """Refuse if a requisite that is not edited would mean other states."""
        target = mention.target
        if target.templated:
            return
        if target.text == self._old:
            if mention.inward and self._called_inwards:
                self._refuse(
                    f"'{mention.module}: {self._old}' in {here.place(target.line)} means a state by an argument, and "
                    f"{self._called_inwards} means this ID: the compiler takes the two together"
                )
            return
        if mention.keyword == "exclude":
            if target.text == self._new:
                self._refuse(f"{here.place(target.line)} excludes that ID")
            return
        if mention.inward:
            if target.text == self._new:
                self._hold(here, target, self._scope.with_value(mention.module, self._new))
            return
        if target.text != self._new and fits(self._old, target.text) == fits(self._new, target.text):
            return
        before = self._scope.meant(mention.module, target.text)
        after = self._scope.meant(mention.module, target.text, new=self._new)
        exact = target.text == self._new and fits(self._old, target.text)  # a pattern never means its own state
        if before != after or exact:
            says = "would no longer mean the same states" if before else "means no state now, and would mean this one"
            self._refuse(f"'{target.text}' in {here.place(target.line)} {says}")

    def _by_value(self, declared: Declared) -> set[str]:
        return self._scope.with_value(declared.states[0].module if declared.states else "", self._new)

    def _hold(self, here: Here, word: Scalar, meant: set[str]) -> None:
        """Refuse if a word that names the new ID means another one now, by the value of an argument."""
        if meant != {self._old}:
            other = min(meant - {self._old}, default="")
            says = f"means '{other}', by an argument" if other else "means no state now"
            self._refuse(f"'{word.text}' in {here.place(word.line)} {says}: it would mean this ID")


def _shown(module: str, function: str) -> str:
    return f"{module}.{function}" if function and "." not in function else function or module
