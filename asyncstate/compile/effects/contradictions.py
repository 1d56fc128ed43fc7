"""States that undo each other's work: they write one file differently, make and remove one thing, set it differently.

Only what is certain from the tree is an error of a check: both states run in any case, no requisite or state between
them says that the second is to have the last word, and what each leaves is known. Other pairs are findings of lint.
"""

from __future__ import annotations

import os
import re
from itertools import combinations
from typing import TYPE_CHECKING, Any

from asyncstate.compile.effects.claims import clashes, is_between
from asyncstate.model.dag import FOOTPRINT
from asyncstate.model.plan import Contradiction
from asyncstate.model.requisite import CONDITIONS, REQUISITE_KEYWORDS
from asyncstate.model.walk import edges_through

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from asyncstate.compile.effects.declared import Footprint
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.dag import Dag

UNDONE = "E430"
WHOLE = frozenset({"managed", "serialize"})
"""The functions of ``file`` that say what all of a file is."""
EDITS = frozenset({"replace", "line"})
"""Those that change a part of what is there."""

_CONTENT = ("contents", "source", "contents_pillar", "contents_grains", "dataset", "dataset_pillar")
_REACTING = frozenset(
    f"{kind}{suffix}" for kind in ("onchanges", "onfail", "prereq") for suffix in ("", "_any", "_all")
)
"""Requisites with which a state runs only if others have changed, failed or will change."""
_MAY_NOT_RUN = frozenset({*CONDITIONS, "order", "retry"}) | _REACTING
"""Arguments with which a state does not run each time, or says when it has its turn."""
_UNLIKE = REQUISITE_KEYWORDS | {"user", "group", "mode", "makedirs", "dir_mode", "backup", "show_changes", "attrs"}
"""Arguments that say nothing about the content of a file."""
_TAKE_AWAY = frozenset({"absent", "rename", "copy", "symlink", "hardlink"})
"""Functions after which another state may have to write a file again."""
_MAKE_ANOTHER_TEXT = frozenset({"template", "encoding", "contents_pillar", "contents_grains", "allow_empty", "create"})
"""Arguments with which a state does not write its contents, or its source, as they are."""
_LARGEST = 1 << 12
"""The longest text in which a pattern of the tree is searched for: that may take long."""
_REPEATED_GROUP = re.compile(r"\)[*+?{]")
_LET_ONE_DECIDE = "let one state decide; unless, onchanges and the like say when the other one runs"
_ONE_WRITER = "let one state write the file; replace: False writes it only if it is missing"


def undone(
    chunks: Sequence[LowChunk],
    dag: Dag,
    known: Sequence[Footprint],
    source_of: Callable[[LowChunk], str],
) -> Iterator[Contradiction]:
    """Yield the pairs that change one thing to and fro in each run.

    ``known`` says what the chunks touch. ``source_of`` reads the file of the tree that a state names; "" if it cannot
    be read.
    """
    steps = [chunk for chunk in chunks if not _may_not_run(chunk, dag)]
    yield from _written_differently(steps, chunks, dag, source_of)
    for clash in clashes(steps, known):
        first, second = clash.first, clash.second
        meant = clash.meant or is_between(clash, chunks, known) or _waits(dag, first.index, second.index)
        message = f"{second.place} and {first.place} want {clash.thing} differently: each run changes it to and fro"
        yield Contradiction(
            UNDONE, first.index, second.index, message, _LET_ONE_DECIDE, clash.thing, clash.certain and not meant
        )


def _written_differently(
    steps: Sequence[LowChunk], chunks: Sequence[LowChunk], dag: Dag, source_of: Callable[[LowChunk], str]
) -> Iterator[Contradiction]:
    files: dict[str, list[LowChunk]] = {}
    named = (chunk for chunk in chunks if chunk.state == "file" and isinstance(chunk.name, str))
    taken = {os.path.normpath(chunk.name) for chunk in named if chunk.fun in _TAKE_AWAY}
    for chunk in steps:
        if chunk.state == "file" and isinstance(chunk.name, str) and _always_writes(chunk):
            files.setdefault(os.path.normpath(chunk.name), []).append(chunk)
    for path, writers in files.items():
        for first, second in combinations(writers, 2):
            certain = _contradict(first, second, lambda chunk: _text(chunk, source_of))
            if certain is not False:
                meant = path in taken or _waits(dag, first.index, second.index)
                message = f"{second.place} and {first.place} write {path} differently: each run changes it to and fro"
                is_certain = certain is True and not meant
                yield Contradiction(UNDONE, first.index, second.index, message, _ONE_WRITER, path, is_certain)


def _waits(dag: Dag, first: int, second: int) -> bool:
    """Whether requisites or orders of the tree put the second chunk after the first."""

    def wanted(node: int) -> Iterator[int]:
        return (before for before in dag.predecessors(node) if dag.sources(before, node) != (FOOTPRINT,))

    return any(before == first for _, before in edges_through([second], wanted))


def _may_not_run(chunk: LowChunk, dag: Dag) -> bool:
    """Whether a run may leave a state out, or the tree says when it has its turn."""
    if not _MAY_NOT_RUN.isdisjoint(chunk.args):
        return True
    before = dag.predecessors(chunk.index)
    return any(not _REACTING.isdisjoint(dag.sources(each, chunk.index)) for each in before)


def _always_writes(chunk: LowChunk) -> bool:
    """Whether a state that runs gives a file its content each time."""
    if chunk.args.get("replace", True) is not True:
        return False
    return chunk.fun in EDITS or (chunk.fun in WHOLE and any(chunk.args.get(each) for each in _CONTENT))


def _contradict(first: LowChunk, second: LowChunk, text_of: Callable[[LowChunk], str]) -> bool | None:
    """Whether what one state leaves in a file is not what the other wants; None: only a run can tell."""
    if first.fun in EDITS and second.fun in EDITS:
        return False
    if first.fun in EDITS or second.fun in EDITS:
        edit, whole = (first, second) if first.fun in EDITS else (second, first)
        text = text_of(whole)
        return _edits(edit, text) if 0 < len(text) <= _LARGEST else None
    texts = text_of(first), text_of(second)
    if all(texts):
        return texts[0] != texts[1]
    return False if _content_arguments(first) == _content_arguments(second) else None


def _text(chunk: LowChunk, source_of: Callable[[LowChunk], str]) -> str:
    """Return what a state writes, without the last line break; "" if that is not known before a run."""
    args = chunk.args
    if chunk.fun != "managed" or not args.keys().isdisjoint(_MAKE_ANOTHER_TEXT):
        return ""
    contents, source = args.get("contents"), args.get("source")
    lines = [line for line in (contents if isinstance(contents, list) else [contents]) if isinstance(line, str)]
    if source is None and isinstance(contents, (str, list)):
        return "\n".join(lines).rstrip("\n") if isinstance(contents, str) or len(lines) == len(contents) else ""
    return source_of(chunk).rstrip("\n") if contents is None and isinstance(source, str) else ""


def _content_arguments(chunk: LowChunk) -> tuple[str, dict[str, Any]]:
    return chunk.fun, {key: value for key, value in chunk.args.items() if key not in _UNLIKE}


def _edits(chunk: LowChunk, text: str) -> bool | None:
    """Whether an edit changes a text for certain; None: finding out may take for ever."""
    if chunk.fun == "line":
        content = chunk.args.get("content")
        mode = chunk.args.get("mode")
        known = {line.strip() for line in text.splitlines()}
        return isinstance(content, str) and mode in {"ensure", "insert"} and content.strip() not in known
    pattern, repl = chunk.args.get("pattern"), chunk.args.get("repl")
    if not (isinstance(pattern, str) and isinstance(repl, str)) or "flags" in chunk.args:
        return False
    if _REPEATED_GROUP.search(pattern):
        return None
    try:
        return re.sub(pattern, repl, text, count=0, flags=re.MULTILINE) != text
    except (re.error, RecursionError):
        return False
