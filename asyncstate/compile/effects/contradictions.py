"""States that contradict one another: two that write one file differently, and a program of root in a user's folder.

Only what is certain from the tree is an error of a check: both states run in any case, no requisite between them says
that the second is to have the last word, and what each leaves in the file is known. Other pairs are findings of lint.
"""

from __future__ import annotations

import os
import re
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate.model.dag import FOOTPRINT
from asyncstate.model.requisite import CONDITIONS, REQUISITE_KEYWORDS
from asyncstate.model.walk import edges_through

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.dag import Dag

WHOLE = frozenset({"managed", "serialize"})
"""The functions of ``file`` that say what all of a file is."""
EDITS = frozenset({"replace", "line"})
"""Those that change a part of what is there."""

_CONTENT = ("contents", "source", "contents_pillar", "contents_grains", "dataset", "dataset_pillar")
_MAY_NOT_RUN = frozenset({*CONDITIONS, "order", "retry"}) | frozenset(
    f"{kind}{suffix}" for kind in ("onchanges", "onfail", "prereq") for suffix in ("", "_any", "_all")
)
"""Arguments with which a state does not write its content in every run, or says when it does."""
_UNLIKE = REQUISITE_KEYWORDS | {"user", "group", "mode", "makedirs", "dir_mode", "backup", "show_changes", "attrs"}
"""Arguments that say nothing about the content of a file."""
_TAKE_AWAY = frozenset({"absent", "rename", "copy", "symlink", "hardlink"})
"""Functions after which another state may have to write a file again."""
_MAKE_ANOTHER_TEXT = frozenset({"template", "encoding", "contents_pillar", "contents_grains", "allow_empty", "create"})
"""Arguments with which a state does not write its contents, or its source, as they are."""
_LARGEST = 1 << 12
"""The longest text in which a pattern of the tree is searched for: that may take long."""
_REPEATED_GROUP = re.compile(r"\)[*+?{]")
_PROGRAMS = {
    "git.latest": ("git", "target"),
    "git.cloned": ("git", "target"),
    "git.detached": ("git", "target"),
    "git.present": ("git", "name"),
    "virtualenv.managed": ("virtualenv", "name"),
    "pip.installed": ("pip", "bin_env"),
    "pip.removed": ("pip", "bin_env"),
    "pip.uptodate": ("pip", "bin_env"),
    "file.patch": ("patch", "name"),
}
"""The states that run a program which root may not run where another user can exchange folders, and the argument."""


class Contradiction(NamedTuple):
    """Two chunks, by index. The ``message`` is about the second; not ``certain``: a run may show that all is well."""

    first: int
    second: int
    message: str
    hint: str
    certain: bool = True


def undone(chunks: Sequence[LowChunk], dag: Dag, source_of: Callable[[LowChunk], str]) -> Iterator[Contradiction]:
    """Yield the pairs that change one file to and fro in each run.

    ``source_of`` reads the file of the tree that a state names; "" if it cannot be read.
    """
    files: dict[str, list[LowChunk]] = {}
    taken: set[str] = set()
    for chunk in chunks:
        if chunk.state == "file" and isinstance(chunk.name, str):
            if _always_writes(chunk):
                files.setdefault(os.path.normpath(chunk.name), []).append(chunk)
            elif chunk.fun in _TAKE_AWAY:
                taken.add(os.path.normpath(chunk.name))
    for path, writers in files.items():
        for first, second in combinations(writers, 2):
            certain = _contradict(first, second, lambda chunk: _text(chunk, source_of))
            if certain is not False:
                meant = path in taken or _waits(dag, first.index, second.index)
                yield Contradiction(
                    first.index,
                    second.index,
                    f"{second.place} and {first.place} write {path} differently: each run changes it to and fro",
                    "let one state write the file; replace: False writes it only if it is missing",
                    certain is True and not meant,
                )


def refused(chunks: Sequence[LowChunk]) -> Iterator[Contradiction]:
    """Yield the states that run a program as root in a folder that an earlier one gives to another user."""
    given: dict[str, tuple[int, str]] = {}
    for chunk in chunks:
        program, argument = _PROGRAMS.get(chunk.function, ("", ""))
        place = chunk.name if argument == "name" else chunk.args.get(argument)
        if program and isinstance(place, str) and _is_root(chunk.args.get("user")):
            folder = next((each for each in _with_parents(os.path.normpath(place)) if each in given), "")
            if folder:
                giver, user = given[folder]
                yield Contradiction(
                    giver,
                    chunk.index,
                    f"{chunk.place} runs {program} as root in {place}, but {chunks[giver].place} gives {folder} to "
                    f"{user}, who can replace files there meanwhile: the run refuses it",
                    f"say user: {user}" if program != "patch" else f"let root own {folder} while it patches there",
                )
        folder, user = given_away(chunk)
        if user:
            given[folder] = (chunk.index, user)
        elif folder:
            given.pop(folder, None)


def _waits(dag: Dag, first: int, second: int) -> bool:
    """Whether requisites or orders of the tree put the second chunk after the first."""

    def wanted(node: int) -> Iterator[int]:
        return (before for before in dag.predecessors(node) if dag.sources(before, node) != (FOOTPRINT,))

    return any(before == first for _, before in edges_through([second], wanted))


def _always_writes(chunk: LowChunk) -> bool:
    """Whether a state gives a file its content in every run."""
    if not _MAY_NOT_RUN.isdisjoint(chunk.args) or chunk.args.get("replace", True) is not True:
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


def given_away(chunk: LowChunk) -> tuple[str, str]:
    """Return the folder that a state gives to a user, "" if it gives none, and that user, "" for root."""
    if chunk.function == "file.directory" and isinstance(chunk.name, str):
        user = chunk.args.get("user")
        return os.path.normpath(chunk.name), "" if _is_root(user) else str(user)
    if chunk.function == "user.present" and not _is_root(chunk.name) and chunk.args.get("createhome", True) is True:
        home = chunk.args.get("home") or f"/home/{chunk.name}"
        return (os.path.normpath(home), str(chunk.name)) if isinstance(home, str) else ("", "")
    return "", ""


def _is_root(user: Any) -> bool:
    return user in {None, "", "root", 0, "0"} if isinstance(user, (str, int, type(None))) else True


def _with_parents(path: str) -> Iterator[str]:
    while path not in {"/", "", "."}:
        yield path
        path = os.path.dirname(path)
