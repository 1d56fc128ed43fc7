"""The scope of an ID: the files of its environment, with the meaning of each word in them."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.extras.editor.mentions import read
from asyncstate.extras.editor.outline import is_sls_data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.extras.editor.knowledge import Knowledge
    from asyncstate.extras.editor.mentions import Declared, Mention, Reading, Scalar, StateOf
    from asyncstate.extras.editor.messages import Rendered
    from asyncstate.extras.editor.tree import File, Tree

_GLOB = re.compile(r"[*?\[]")
_COMMENT = re.compile(r"(?m)(?:^|(?<=\s))#.*$|\{#(?s:.*?)#\}")


class Here(NamedTuple):
    """A file with its words about IDs."""

    file: File
    reading: Reading

    def place(self, line: int) -> str:
        """Return the name of a line in messages."""
        return f"{self.file.relpath}:{line}"

    @property
    def computes(self) -> bool:
        """Whether a template or another language may say more than its text."""
        return bool(self.reading.problem) or "{{" in self.file.text or "{%" in self.file.text


class Named(NamedTuple):
    """A state by the ID and the name that a requisite may call it; ``mine`` if it is one of the ID of the scope."""

    id: str
    module: str
    name: str
    mine: bool
    place: str

    def fits(self, module: str) -> bool:
        """Return whether a requisite with a module may mean it."""
        return not module or not self.module or module == self.module


class Scope:
    """The words of one environment about an ID. ``unseen`` are places that may name it, known only after rendering."""

    def __init__(self, knowledge: Knowledge, file: File, id_: str) -> None:
        self.tree: Tree = knowledge.tree
        self.unseen: list[str] = []
        self._id = id_
        self._compiled = knowledge.compiled.states
        files = [Here(each, read(each.text)) for each in self.tree.files.values() if self.holds(self.tree, each)]
        own = {here.file.env for here in files if any(self._is_mine(each) for each in here.reading.declared)}
        env = file.env if file.env in own or len(own) != 1 else next(iter(own))
        self._files = [here for here in files if here.file.env == env or here.file.env not in own]
        self._by_path = {here.file.path: here for here in self._files}
        self.declared: list[tuple[Here, Declared]] = [
            (here, each) for here, each in self.everything() if self._is_mine(each)
        ]
        self._named = list(self._all_named())
        self._modules = {each.module for each in self._named if each.mine}

    @staticmethod
    def holds(tree: Tree, file: File) -> bool:
        """Return whether a file is an SLS of the tree: no top file, no pillar, and no file that another one hides."""
        listed = tree.listing.get(file.env, {}).get(file.relpath, file.path)
        return bool(
            file.sls and file.sls != "top" and file.path not in tree.pillar and file.env and listed == file.path
        )

    # what the texts say

    def everything(self) -> Iterator[tuple[Here, Declared]]:
        """Yield all declarations and extensions of IDs."""
        for here in self._files:
            for declared in here.reading.declared:
                yield here, declared

    def mentions(self) -> Iterator[tuple[Here, Mention]]:
        """Yield all words that name IDs."""
        for here in self._files:
            for mention in here.reading.mentions:
                yield here, mention

    def states(self) -> Iterator[tuple[Here, Declared, StateOf]]:
        """Yield the states of the ID: those that it declares, and those that are added to it."""
        for here, declared in self.everything():
            if declared.id.text == self._id and not declared.id.templated:
                for state in declared.states:
                    yield here, declared, state

    def is_declared(self, module: str) -> bool:
        """Return whether the ID itself has a state of a module: then an extension only adds arguments."""
        return any(state.module == module for _, declared in self.declared for state in declared.states)

    def has(self, module: str) -> bool:
        """Return whether the ID has a state that a requisite with a module may mean."""
        return not module or "" in self._modules or module in self._modules

    def declares(self, id_: str) -> str:
        """Return the place that declares, or may declare, another ID; "" if none does."""
        for here, declared in self.everything():
            if not declared.extends and (declared.id.text == id_ or _likely(declared.id, id_)):
                return here.place(declared.id.line)
        for here in self._files:
            if here.reading.problem:
                for tolerant in here.file.found.declarations:
                    if tolerant.id.text == id_:
                        return here.place(tolerant.id.place.line + 1)
        return next((self._place(state) for state in self._compiled if state.id == id_ and self._may(state)), "")

    def why_undeclared(self) -> str:
        """Return why no text declares the ID."""
        for state in self._compiled:
            if state.id == self._id:
                here = self._by_path.get(state.file)
                if here is not None and not is_sls_data(here.file.text):
                    return f"it comes from {self._place(state)}, which is written in another language than YAML"
                return f"a template computes it in {self._place(state)}"
        for here, declared in self.everything():
            if _likely(declared.id, self._id):
                return f"a template computes it: '{declared.id.text}' in {here.place(declared.id.line)}"
        named = next((each for each in self._named if each.name == self._id and not each.mine), None)
        if named is not None:
            return f"it is no ID, but the name of the state '{named.id}' in {named.place}"
        if _GLOB.search(self._id):
            return "it is a pattern, not an ID"
        return "no SLS file declares it"

    # what is known after rendering

    def also_rendered_in(self) -> str:
        """Return the place of a state of the ID that no text shows; "" if there is none."""
        shown = {here.file.path for here, _ in self.declared}
        return next(
            (
                self._place(state)
                for state in self._compiled
                if state.id == self._id and state.file not in shown and self._may(state)
            ),
            "",
        )

    def never_named_by_id(self, here: Here, module: str) -> bool:
        """Return whether rendering gave each state of a module of the ID a name of its own."""
        names = [
            state.name
            for state in self._compiled
            if state.id == self._id and state.file == here.file.path and module in {"", state.state}
        ]
        return bool(names) and self._id not in names

    def obscure(self, new: str) -> Iterator[str]:
        """Yield why a place that cannot be read may name the ID; add unknowable places to ``unseen``."""
        for here in self._files:
            known = not is_sls_data(here.file.text) and self._is_rendered(here)
            if here.reading.problem and not known and _says(here.file.text, self._id):
                yield f"{here.place(here.reading.line)} cannot be read, and has its name: {here.reading.problem}"
        for file in self.tree.files.values():
            if not file.sls and file.path not in self.tree.pillar:
                yield from self._in_part(Here(file, read(file.text)))
        yield from self._computed_references()
        for here, word, module in self._templated():
            if not self.has(module) or not (word.may_be(self._id) or word.may_be(new)):
                continue
            if self._is_rendered(here):
                continue
            if not word.says_nothing:
                yield f"'{word.text}' in {here.place(word.line)} may name it, and this machine does not render that"
            self.unseen.append(here.place(word.line))

    def _computed_references(self) -> Iterator[str]:
        """Yield the requisites on the ID that only rendering shows."""
        given = [each for _, each in self.mentions() if each.holder.id == self._id and each.inward]
        if any(each.target.templated or each.module == "sls" for each in given):
            return  # any state may have received one
        receivers = {each.target.text for each in given}
        receivers |= {each.id.text for _, each in self.everything() if each.extends}
        for state in self._compiled:
            here = self._by_path.get(state.file)
            if here is None or not here.computes or not receivers.isdisjoint((state.id, state.name)):
                continue
            said = {mention.target.text for mention in here.reading.mentions}
            for module, target in state.refers:
                if target == self._id and target not in said and self.has("" if module == "id" else module):
                    yield f"the state '{state.id}' in {self._place(state)} refers to it, by what a template computes"

    def _in_part(self, here: Here) -> Iterator[str]:
        """Yield refusals for words of an included template, whose meaning depends on the including file."""
        words = [each.id for each in here.reading.declared] + [each.target for each in here.reading.mentions]
        for word in words:
            if word.text == self._id:
                yield f"{here.place(word.line)} names it, in a template that SLS files include: change that first"

    def _templated(self) -> Iterator[tuple[Here, Scalar, str]]:
        for here, mention in self.mentions():
            if mention.target.templated:
                yield here, mention.target, mention.module
        for here, declared in self.everything():
            if declared.extends and declared.id.templated:
                yield here, declared.id, ""

    def _is_rendered(self, here: Here) -> bool:
        return any(state.file == here.file.path for state in self._compiled)

    def _may(self, state: Rendered) -> bool:
        """Return whether rendering may still give a state that its file's text does not show."""
        here = self._by_path.get(state.file)
        return here is not None and here.computes

    def _place(self, state: Rendered) -> str:
        here = self._by_path.get(state.file)
        return here.place(state.line) if here is not None else f"{state.sls} (SLS)"

    # what requisites mean

    def meant(self, module: str, target: str, new: str = "") -> set[tuple[str, str, str]]:
        """Return the states that ``module: target`` means by ID or name; with ``new``, after the ID has that name."""
        chosen = [each for each in self._named if each.fits(module)]
        exact = [each for each in chosen if target in {self._called(each, new), each.name}]
        if not exact:
            exact = [each for each in chosen if fits(self._called(each, new), target) or fits(each.name, target)]
        return {(each.id, each.module, each.name) for each in exact}

    def named(self, module: str, name: str) -> Named | None:
        """Return a state of another ID that ``module: name`` means."""
        return next(
            (each for each in self._named if not each.mine and each.fits(module) and name in {each.name, each.id}), None
        )

    def alone(self, module: str, name: str) -> bool:
        """Return whether rendering shows that ``module: name`` means states of the ID and of no other."""
        found = {state.id for state in self._compiled if name in {state.id, state.name} and module in {"", state.state}}
        return found == {self._id}

    def with_value(self, module: str, value: str) -> set[str]:
        """Return the IDs with a state of a module that has a value among its arguments."""
        return {
            declared.id.text
            for _, declared in self.everything()
            for state in declared.states
            if value in state.values and (not module or module == state.module)
        }

    def values(self, module: str) -> set[str]:
        """Return all texts among the arguments of the ID's states of a module."""
        return {value for _, _, state in self.states() if state.module == module for value in state.values}

    def _called(self, each: Named, new: str) -> str:
        return new if new and each.mine else each.id

    def _is_mine(self, declared: Declared) -> bool:
        return declared.id.text == self._id and not declared.id.templated and not declared.extends

    def _all_named(self) -> Iterator[Named]:
        """Yield the states of all texts, then those that only rendering shows."""
        shown: set[tuple[str, str]] = set()
        rendered: dict[tuple[str, str], set[str]] = {}
        for chunk in self._compiled:
            rendered.setdefault((chunk.file, chunk.id), set()).add(chunk.name)
        for here, declared in self.everything():
            if declared.id.templated:
                continue
            id_ = declared.id.text
            if not declared.extends:
                shown.add((here.file.path, id_))
            for state in declared.states:
                names = {*state.names}
                names |= {id_} if state.unnamed and not declared.extends else set()
                names |= rendered.get((here.file.path, id_), set()) if state.computed else set()
                for name in names or {id_}:
                    yield Named(id_, state.module, name, id_ == self._id, here.place(state.line))
        for chunk in self._compiled:
            if (chunk.file, chunk.id) not in shown and self._may(chunk):
                yield Named(chunk.id, chunk.state, chunk.name, chunk.id == self._id, self._place(chunk))


def fits(text: str, target: str) -> bool:
    """Return whether the target of a requisite, as a pattern, fits an ID or a name."""
    return _GLOB.search(target) is not None and fnmatch.fnmatchcase(text, target)


def _likely(word: Scalar, text: str) -> bool:
    """Return whether the literal parts of a templated word make a text likely."""
    return word.templated and not word.says_nothing and word.may_be(text)


def _says(text: str, word: str) -> bool:
    found = re.compile(rf"(?<![\w./-]){re.escape(word)}(?![\w./-])")
    return found.search(_COMMENT.sub("", text)) is not None
