"""Completion: the words that may be written at the cursor."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.extras.editor.analysis import MANUAL
from asyncstate.extras.editor.context import Context, context
from asyncstate.extras.editor.index import DIRECTIVES, REQUISITES
from asyncstate.extras.editor.spelling import spelled
from asyncstate.model.requisite import INTERNAL_KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from asyncstate.extras.editor.index import Declaration
    from asyncstate.extras.editor.knowledge import Knowledge
    from asyncstate.extras.editor.messages import Argument
    from asyncstate.extras.editor.outline import Place
    from asyncstate.extras.editor.tree import File

MOST = 200
"""The number of items offered at once; more letters narrow the choice."""
_WORDS = {"include": "SLS files that belong to this one", "extend": "more for IDs of other SLS files", "exclude": ""}


class Item(NamedTuple):
    """One choice. ``text`` replaces the word; ``kind`` chooses the editor's icon.

    ``order`` 0 comes first. ``doc`` is Markdown.
    """

    label: str
    text: str
    kind: str
    detail: str = ""
    doc: str = ""
    order: int = 5


class Offer(NamedTuple):
    """The items for the word at ``place``; not ``complete``: ask again after the next letter."""

    items: list[Item]
    place: Place
    complete: bool


def complete(knowledge: Knowledge, file: File, line: int, column: int) -> Offer:
    """Return the words that may be written at a cursor."""
    here = context(file.text, line, column)
    row = file.text.split("\n")[here.place.line]
    wanted = here.prefix.lower()
    found: list[Item] = []
    full = False
    for item in _items(knowledge, file, here, row):
        if not _fits(item.label.lower(), wanted, here.kind):
            continue
        if len(found) == MOST:
            full = True
            break
        found.append(item)
    waiting = not knowledge.functions and here.kind in {"state", "argument", "function", "value"}
    return Offer(found, here.place, complete=not full and not waiting)


def _fits(label: str, wanted: str, kind: str) -> bool:
    return wanted in label if kind in {"module", "target", "extended", "include"} else label.startswith(wanted)


def _items(knowledge: Knowledge, file: File, here: Context, row: str) -> Iterator[Item]:
    rest = row[here.place.end :].lstrip()
    colon = "" if rest.startswith(":") else ":"
    match here.kind:
        case "id":
            yield from (Item(word, f"{word}{colon}", "keyword", _WORDS[word]) for word in DIRECTIVES)
        case "extended":
            yield from _ids(knowledge, file, "", colon)
        case "state":
            yield from _functions(knowledge, "" if row[: here.place.start].strip() else colon)
        case "function":
            prefix = f"{here.function}."
            for item in _functions(knowledge, ""):
                if item.label.startswith(prefix):
                    short = item.label.removeprefix(prefix)
                    yield item._replace(label=short, text=short if here.dash else f"- {short}")
            yield from _words(here, colon)
        case "argument":
            yield from _arguments(knowledge, here, colon)
        case "value":
            yield from _values(knowledge, here)
        case "module":
            yield from _modules(knowledge, file, here, colon)
        case "target":
            yield from _ids(knowledge, file, here.module, "")
        case "include":
            pillar = file.path in knowledge.tree.pillar
            names = knowledge.tree.sls_names(pillar=pillar)
            yield from (Item(name, name, "file") for name in names if name != file.sls)
        case "salt" | "template":
            yield from _paths(knowledge, file, here)
        case "pillar" | "grain":
            yield from _keys(knowledge, here)


def _functions(knowledge: Knowledge, colon: str) -> Iterator[Item]:
    for name, function in knowledge.functions.items():
        yield Item(
            name,
            f"{name}{colon}",
            "function",
            function.doc.partition("\n")[0],
            f"```yaml\n{function.example}\n```" if function.example else "",
        )


def describe(argument: Argument) -> str:
    """Return a text with the type and the default of an argument."""
    return f"{argument.type}, " + ("required" if argument.default is None else f"default {argument.default}")


def _arguments(knowledge: Knowledge, here: Context, colon: str) -> Iterator[Item]:
    function = knowledge.functions.get(here.function)
    dash = "" if here.dash else "- "
    after = f"{colon} " if colon else ""
    for argument in function.arguments if function else ():
        order = 0 if argument.default is None else 1
        text = f"{dash}{argument.name}{after}"
        yield Item(argument.name, text, "argument", describe(argument), argument.meaning, order)
    yield from _words(here, colon)


def _words(here: Context, colon: str) -> Iterator[Item]:
    dash = "" if here.dash else "- "
    for word, title in keywords().items():
        after = colon if word in REQUISITES or not colon else f"{colon} "
        yield Item(word, f"{dash}{word}{after}", "keyword", title, order=3)


@cache
def keywords() -> dict[str, str]:
    """Return the words that every state takes, with the title of the page that explains each."""
    words = sorted(word for word in INTERNAL_KEYWORDS | REQUISITES if not word.startswith("_"))
    return {word: page.title for word in words if (page := MANUAL.page_of(word))}


def _values(knowledge: Knowledge, here: Context) -> Iterator[Item]:
    function = knowledge.functions.get(here.function)
    for argument in function.arguments if function else ():
        if argument.name == here.keyword and "bool" in argument.type:
            yield from (Item(word, word, "value", describe(argument), argument.meaning) for word in ("True", "False"))


def _modules(knowledge: Knowledge, file: File, here: Context, colon: str) -> Iterator[Item]:
    """Yield beginnings of a requisite: the modules of the tree, then each ID with its module."""
    dash = "" if here.dash else "- "
    used = Counter(
        state.module for _, declared in knowledge.tree.declarations() for state in declared.states if state.module
    )
    after = f"{colon} " if colon else ""
    for module, number in used.most_common():
        yield Item(module, f"{dash}{module}{after}", "module", f"{number} in this tree", order=1)
    yield Item("sls", f"{dash}sls{after}", "module", "all states of an SLS file", order=2)
    if not colon or len(here.prefix) < 2:
        return
    for other, declared in _near(knowledge, file):
        for state in declared.states:
            label = f"{state.module}: {declared.id.text}"
            if not declared.id.templated:
                yield Item(label, f"{dash}{state.module}: {spelled(declared.id.text)}", "id", other.sls)


def _near(knowledge: Knowledge, file: File) -> list[tuple[File, Declaration]]:
    """Return all declarations: first in the same file, then in the SLS files that it includes, then in others."""
    included = {knowledge.tree.target_of(file, link) for link in file.found.links if link.kind == "sls"}

    def distance(other: File) -> int:
        return 0 if other.path == file.path else 1 if other.path in included else 2

    return sorted(knowledge.tree.declarations(), key=lambda each: distance(each[0]))


def _ids(knowledge: Knowledge, file: File, module: str, colon: str) -> Iterator[Item]:
    told: set[str] = set()
    for other, declared in _near(knowledge, file):
        if module and not any(state.module == module for state in declared.states):
            continue
        if declared.id.templated or declared.id.text in told:
            continue
        told.add(declared.id.text)
        what = ", ".join(state.function for state in declared.states)
        order = 0 if other.path == file.path else 4
        yield Item(declared.id.text, f"{spelled(declared.id.text)}{colon}", "id", f"{what} in {other.sls}", order=order)
    for state in knowledge.compiled.states:
        if (not module or state.state == module) and state.id not in told:
            told.add(state.id)
            yield Item(state.id, f"{spelled(state.id)}{colon}", "id", f"{state.state} in {state.sls}", order=4)


def _paths(knowledge: Knowledge, file: File, here: Context) -> Iterator[Item]:
    """Yield paths of the tree: whole, or up to the next folder where they are too many."""
    every: Iterable[str] = knowledge.tree.listing.get(file.env) or knowledge.tree.listing.get("base") or ()
    if here.kind == "template":
        every = (path for path in every if path.endswith((".jinja", ".j2", ".sls", ".yaml", ".json", ".txt")))
    fitting = sorted(path for path in every if path.startswith(here.prefix))
    if len(fitting) > MOST:
        length = len(here.prefix)
        cut = (path.find("/", length) + 1 or len(path) for path in fitting)
        fitting = list(dict.fromkeys(path[:end] for path, end in zip(fitting, cut, strict=True)))
    yield from (Item(path, path, "folder" if path.endswith("/") else "file") for path in fitting)


def _keys(knowledge: Knowledge, here: Context) -> Iterator[Item]:
    """Yield keys of the pillar or the grains: of this host, and of all pillar files."""
    places: dict[str, str] = {}
    if here.kind == "pillar":
        for file in knowledge.tree.pillar.values():
            places.update((word.text, file.relpath) for word in file.keys if not word.templated and file.sls != "top")
        mine = knowledge.seen.pillar
    else:
        mine = knowledge.seen.grains
    above = "".join(f"{key}:" for key in here.above)
    told: set[str] = set()
    for key in sorted({*places, *mine}):
        label = key.removeprefix(above)
        if not key.startswith(above) or label in told or (above and ":" in label):
            continue
        told.add(label)
        yield Item(label, label, "key", places.get(key, "this host"))
