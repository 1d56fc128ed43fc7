"""States that undo each other's work: they write one file differently, make and remove one thing, set it differently.

Only what is certain from the tree is an error of a check: both states run in any case, and what each leaves is known.
An order of the two is no excuse where both say how something is. It may be one where one makes what the other takes
away, or where a state between them needs what the first has done. Other pairs are findings of lint.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import structs

from asyncstate.effects.places import FOLDER, kind_left, place
from asyncstate.effects.resources import PATH, folders_above, plain_path
from asyncstate.extras.contradictions.below import parts
from asyncstate.extras.contradictions.claims import files_with_entries
from asyncstate.extras.contradictions.clashes import ONE_FAILS, TO_AND_FRO, clashes, is_between
from asyncstate.model.dag import FOOTPRINT
from asyncstate.model.plan import Contradiction
from asyncstate.model.requisite import CONDITIONS
from asyncstate.model.walk import edges_through

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from asyncstate.compile.low.salt_sources import SaltSources
    from asyncstate.effects.declared import Footprint
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.dag import Dag
    from asyncstate.sources.packages.known import KnownPackages

UNDONE = "E430"
_REACTING = frozenset(
    f"{kind}{suffix}" for kind in ("onchanges", "onfail", "prereq") for suffix in ("", "_any", "_all")
)
"""Requisites with which a state runs only if others have changed, failed or will change."""
_MAY_NOT_RUN = frozenset({*CONDITIONS, "retry"}) | _REACTING
"""Arguments with which a state does not run each time."""
_MAKE = frozenset({"cmd.run", "cmd.script"})
"""Functions that make what their ``creates`` names."""
_TAKE_AWAY = frozenset({"absent", "rename", "copy", "symlink", "hardlink"})
"""Functions after which another state may have to write a file again."""
_OF_FILES = frozenset({"file", "ini", "x509"})
_REPLACE_WITH = {"hardlink": "force", "private_key_managed": "overwrite"}
"""Functions that fail over another file, and the argument with which they replace it."""
_SOURCES = "/etc/apt/sources.list"
_ONE_WRITER = "let one state say all that is in the file; with replace: False it is written only where it is missing"


def undone(
    chunks: Sequence[LowChunk],
    dag: Dag,
    known: Sequence[Footprint],
    sources: SaltSources,
    packages: KnownPackages | None = None,
) -> Iterator[Contradiction]:
    """Yield the pairs that change one thing to and fro in each run.

    ``known`` says what the chunks touch. ``sources`` has the files of the tree that states name, ``packages`` knows
    what comes with them.
    """
    steps = _followed([chunk for chunk in chunks if not _may_not_run(chunk, dag)], known)
    paths = {path for chunk in steps if (path := place(chunk)) is not None}
    recursing = [chunk for chunk in steps if chunk.function == "file.recurse" and place(chunk) is not None]
    paths |= {folder for path in paths for folder in folders_above(path)} if recursing else set()
    paths |= _of_several(recursing, sources) if len(recursing) > 1 else set()
    steps += [part for chunk in recursing for part in parts(chunk, paths, sources)]
    yield from _written_differently(steps, chunks, dag, known, sources)
    for clash in clashes(steps, chunks, known, sources, packages):
        first, second = clash.first, clash.second
        meant = clash.meant or is_between(first, second, clash.resource, chunks, known)
        meant = meant or (clash.in_turn and _waits(dag, first, second))
        message = f"{second.place} and {first.place} want {clash.thing} differently: {clash.outcome}"
        yield Contradiction(
            UNDONE, first.index, second.index, message, clash.hint, clash.thing, clash.certain and not meant
        )


def _followed(steps: list[LowChunk], known: Sequence[Footprint]) -> list[LowChunk]:
    """Return the steps with paths below bound folders, and below links to folders of the tree, where these lead.

    Through a link, ``file.directory`` gives a folder no other mode.
    """
    making = [chunk for chunk in steps if chunk.args.get("mount") is not False]
    links = [(chunk.state, plain_path(path), target) for chunk in making for path, target in known[chunk.index].links]
    ways = {path: plain_path(os.path.join(os.path.dirname(path), target)) for _, path, target in links}
    bound = {path for state, path, _ in links if state == "mount"}
    folders = {place(chunk) for chunk in steps if kind_left(chunk) == FOLDER} if links else set()
    ends = {path: _end_of(where, ways) for path, where in ways.items()}
    ways = {path: end for path, end in ends.items() if path in bound or end in folders}
    for number, chunk in enumerate(steps) if ways else ():
        own = place(chunk) if chunk.state in _OF_FILES else None
        if own is None:
            continue
        leads = own not in ways or chunk.fun == "recurse" or (own in bound and chunk.fun == "directory")
        head = own if leads else os.path.dirname(own)
        end = f"{_end_of(head, ways)}{own[len(head) :]}"
        if end != own:
            steps[number] = structs.replace(chunk, name=end)
    return steps


def _end_of(path: str, ways: dict[str, str]) -> str:
    """Return where a path leads through links; some place of a circle if it leads in one."""
    for _ in ways:
        top = next((each for each in (path, *folders_above(path)) if each in ways), None)
        if top is None:
            break
        path = f"{ways[top]}{path[len(top) :]}"
    return path


def _of_several(recursing: Sequence[LowChunk], sources: SaltSources) -> set[str]:
    """Return the files that several of these states bring from the tree."""
    tops = ((plain_path(chunk.name), chunk) for chunk in recursing)
    brought = Counter(f"{top}/{file}" for top, chunk in tops for file in sources.files_of(chunk))
    return {path for path, number in brought.items() if number > 1}


def _written_differently(
    steps: Sequence[LowChunk],
    chunks: Sequence[LowChunk],
    dag: Dag,
    known: Sequence[Footprint],
    sources: SaltSources,
) -> Iterator[Contradiction]:
    """Yield the pairs that want other text in one file. An order of theirs only says what a run leaves behind."""
    files: dict[str, list[LowChunk]] = {}
    perhaps = set[int]()
    in_any: list[LowChunk] = []
    crontabs: dict[str, str] = {}
    for chunk in steps:
        is_file = chunk.state in _OF_FILES and isinstance(chunk.name, str)
        paths = (plain_path(chunk.name),) if is_file else files_with_entries(chunk, known[chunk.index])
        if chunk.state == "cron":
            crontabs |= dict.fromkeys(paths, f"the crontab of {chunk.args.get('user') or 'root'}")
        elif len(paths) > 1 or chunk.function == "pkgrepo.managed":
            perhaps.add(chunk.index)
        for path in paths:
            files.setdefault(path, []).append(chunk)
        if chunk.state == "pkgrepo" and not paths:
            in_any.append(chunk)
    for path in files if in_any else ():  # an entry without a file of its own is looked for in each of them
        if path.startswith(_SOURCES) and path.endswith(".list"):
            files[path] = sorted((*files[path], *in_any), key=lambda chunk: chunk.index)
    for path, name in crontabs.items():  # only the program crontab knows which of them there is
        states = files.setdefault(name, [])
        states += [chunk for chunk in files.pop(path) if chunk not in states]
        states.sort(key=lambda chunk: chunk.index)
    if all(len(states) < 2 for states in files.values()):
        return
    from asyncstate.extras.contradictions.texts import COPIES, contradict, suspects, writer

    named = [chunk for chunk in chunks if chunk.state == "file" and isinstance(chunk.name, str)]
    taken: dict[str, set[int]] = {}
    for chunk in named:
        if chunk.fun in _TAKE_AWAY:
            taken.setdefault(plain_path(chunk.name), set()).add(chunk.index)
    added = {str(chunk.args.get("filename")) for chunk in named if chunk.fun == "accumulated"}

    def text_of(chunk: LowChunk) -> str | None:
        if chunk.fun not in COPIES:
            return sources.source_of(chunk)
        makers = files.get(plain_path(str(chunk.args.get(COPIES[chunk.fun]))), [])
        copied = writer(makers[0], sources.source_of, accumulated=False) if len(makers) == 1 else None
        return copied.edit("") if copied is not None and copied.whole and copied.edit is not None else None

    for path, states in files.items():
        if len(states) < 2:
            continue
        found = (writer(chunk, text_of, accumulated=chunk.name in added) for chunk in states)
        writers = [each for each in found if each]
        own = {each.chunk.index for each in writers}
        others = [chunk for chunk in chunks if chunk.index not in own]
        for one, other in suspects(writers):
            certain = contradict(one, other)
            if certain is not False:
                first, second = one.chunk, other.chunk
                meant = not own.issuperset(taken.get(path, ())) or (
                    _waits(dag, first, second) and is_between(first, second, f"{PATH}{path}", others, known)
                )
                both = [each for each in (first, second) if each.fun in _REPLACE_WITH]
                fails = any(each.args.get(_REPLACE_WITH[each.fun]) is not True for each in both)
                outcome = ONE_FAILS if fails else TO_AND_FRO
                message = f"{second.place} and {first.place} write {path} differently: {outcome}"
                is_certain = certain is True and not meant and perhaps.isdisjoint({first.index, second.index})
                yield Contradiction(UNDONE, first.index, second.index, message, _ONE_WRITER, path, is_certain)


def _waits(dag: Dag, first: LowChunk, second: LowChunk) -> bool:
    """Whether requisites or orders of the tree put the second chunk after the first."""

    def wanted(node: int) -> Iterator[int]:
        return (before for before in dag.predecessors(node) if dag.sources(before, node) != (FOOTPRINT,))

    return any(before == first.index for _, before in edges_through([second.index], wanted))


def _may_not_run(chunk: LowChunk, dag: Dag) -> bool:
    """Whether a run may leave a state out."""
    reasons = _MAY_NOT_RUN & chunk.args.keys()
    if reasons and not (reasons == {"creates"} and chunk.function in _MAKE):
        return True
    before = dag.predecessors(chunk.index)
    return any(not _REACTING.isdisjoint(dag.sources(each, chunk.index)) for each in before)
