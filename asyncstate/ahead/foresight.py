"""Foresight: marks the rows of a dry run that are uncertain, because an earlier state of the plan has not run.

    earlier state            later state
    would change what it ──▶ failed, or found nothing to do, on the machine as it is now
    writes or makes          ╰─▶ its row says that it cannot be told before the earlier state has run

    would make a folder  ──▶ would make a file there, or clone into it
    would make a file    ──▶ would make a folder there, or anything below it

A state that a run refuses, because the earlier one gives a folder to another user, fails in the dry run, too.

Only a state that waits for the earlier one counts as later, so the rows are the same at any concurrency. Footprints
name what states touch. An earlier state of unknown effects may make anything that a later state misses.
"""

from __future__ import annotations

import os
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import anyio

from asyncstate.dunders import NOT_TOLD
from asyncstate.effects.places import FILE, FOLDER, GONE, LINK, kind_left
from asyncstate.effects.places import place as place_of
from asyncstate.effects.resources import ENTRY, PATH, Resources, folder_and_marks
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import CONDITIONS_BEFORE, RequisiteKind
from asyncstate.model.result import STATE_RAN
from asyncstate.model.walk import edges_through, stands_for
from asyncstate.pattern import lazy_pattern
from asyncstate.run.delegating_dispatch import DelegatingDispatch
from asyncstate.run.gate import Verdict
from asyncstate.run.rows import sub_states
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Container, Iterator

    from asyncstate.compile.planning import Touched
    from asyncstate.effects.declared import Footprint
    from asyncstate.effects.resources import Place
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Contradiction, Plan
    from asyncstate.model.result import Row
    from asyncstate.run.dispatch import Dispatch
    from asyncstate.run.machine import Work

_KEEP_CONTENT = frozenset({"file.directory", "user.present"})
"""States that may change the mode or owner of an existing folder, and touch nothing below it."""
_ACCOUNTS = ("user:", "group:")
_ACCOUNT_FILES = frozenset(f"{PATH}/etc/{name}" for name in ("passwd", "shadow", "group", "gshadow"))
_ACCOUNT_STATES = frozenset({"user", "group"})
_PROCESSES = "processes"
_UNMOUNT = frozenset({"mount", "cmd", "module"})
"""State modules that may undo a mount below another one, which that keeps busy."""
_BUSY = "target is busy"
"""The words of umount for what processes, or other mounts, keep from being unmounted."""
_NUMBERS = frozenset({"uid", "gid"})
_NEWEST = frozenset({"latest", "uptodate"})
"""Package states that look for newer versions."""
_SHOWN_KINDS = frozenset("user group service mount sysctl kmod".split())
_PACKAGES = ("packages", "unknown-packages")
"""The resources that packages bring to a formula."""
_MOST_SHOWN = 3
_CLONES = frozenset({"git.latest", "git.cloned", "git.detached"})
"""States that need an empty folder, or none."""
_FORCE = frozenset({"force", "force_clone"})
_EDITS = frozenset(
    f"file.{edit}" for edit in "append prepend replace line comment uncomment blockreplace keyvalue patch".split()
) | {"ini.options_absent", "ini.sections_absent"}
"""States that change a part of a file."""
_TYPE_SHOWN = lazy_pattern(r" \(from \w+ type\)$")
_AWAITED = {
    Verdict.ONCHANGES: frozenset({RequisiteKind.ONCHANGES, RequisiteKind.WATCH}),
    Verdict.MET: frozenset({RequisiteKind.WATCH}),
}
"""The families of requisites whose changes could lead to another row, by the verdict of now."""
_CALLED = frozenset({NodeKind.CHUNK, NodeKind.CHECK})
_WITHOUT_RANK = frozenset({NodeKind.SET, NodeKind.STAGE, NodeKind.REMOTE})


class _Change(Value):
    """A planned change of a place, by its chunk.

    ``tree``: with everything below it; ``made``: it makes a missing folder; ``entry``: one entry of a file or a name.
    """

    chunk: int
    tree: bool = False
    made: bool = False
    entry: bool = False


class _Kinds:
    """The planned files, folders, and folders with content, by path, with the chunks that make them."""

    def __init__(self) -> None:
        self._files: dict[str, list[int]] = {}
        self._folders: dict[str, list[int]] = {}
        self._filled: dict[str, list[int]] = {}

    def enter(self, chunk: LowChunk) -> None:
        """Enter what a state would make."""
        path, kind = place_of(chunk), kind_left(chunk)
        if path is None or kind in {GONE, ""}:
            return
        if kind == FILE:
            self._files.setdefault(path, []).append(chunk.index)
        elif kind == FOLDER:
            empty = chunk.function == "file.directory"
            (self._folders if empty else self._filled).setdefault(path, []).append(chunk.index)
        for folder in _above(path):
            self._filled.setdefault(folder, []).append(chunk.index)

    def against(self, chunk: LowChunk) -> dict[int, str]:
        """Return the chunks that make another kind of file at a path of this chunk, with the path as a resource."""
        path, kind = place_of(chunk), kind_left(chunk)
        if path is None or kind in {GONE, ""}:
            return {}
        found = {number: f"{PATH}{folder}" for folder in _above(path) for number in self._files.get(folder, ())}
        if any(chunk.args.get(name) for name in _FORCE):
            return found
        opposed = {FILE: (self._folders, self._filled), LINK: (self._folders, self._filled), FOLDER: (self._files,)}
        others = opposed.get(kind, ())
        if chunk.function in _CLONES and not _is_repository(path):
            others = (self._files, self._filled)
        return found | {number: f"{PATH}{path}" for those in others for number in those.get(path, ())}


def _above(path: str) -> Iterator[str]:
    while (path := os.path.dirname(path)) not in {"/", ""}:
        yield path


def _is_repository(path: str) -> bool:
    return any(os.path.lexists(f"{path}/{name}") for name in (".git", "HEAD"))


class Foresight(DelegatingDispatch):
    """Completes the rows of a dry run by ``inner``; a `Dispatch`.

    ``touched`` returns the footprints of the chunks; called at most once. ``misused``: chunks whose arguments no
    function takes. They fail in any case.
    """

    def __init__(
        self, plan: Plan, inner: Dispatch, touched: Callable[[], Awaitable[Touched]], misused: Container[int] = ()
    ) -> None:
        super().__init__(inner)
        self._plan = plan
        self._misused = misused
        self._find_touched = touched
        self._finding = anyio.Lock()
        self._touched: Touched | None = None
        self._resources = Resources()
        self._to_change: dict[int, Row] = {}
        self._new: list[int] = []
        self._at: dict[Place, list[_Change]] = {}
        self._below: dict[Place, list[_Change]] = {}
        self._kinds = _Kinds()

    async def run_chunk(self, work: Work, chunk: LowChunk) -> Row:
        """Run a chunk and return its row, marked as uncertain if earlier states may change it."""
        row = await self._inner.run_chunk(work, chunk)
        if work.kind not in _CALLED or chunk.index in self._misused:
            return row
        if row.get(STATE_RAN, True) and not (self._to_change and self._enter_refusal(chunk, row)):
            await self._look_ahead(chunk, row)
        if row["result"] is True and not row["changes"] and work.verdict in _AWAITED:
            self._wait_for_changes(chunk, row, _AWAITED[work.verdict])
        if work.kind is NodeKind.CHUNK and _is_to_change(row):
            self._to_change[chunk.index] = row
            self._new.append(chunk.index)
            self._kinds.enter(chunk)
        return row

    async def _look_ahead(self, chunk: LowChunk, row: Row) -> None:
        """Mark the row of a state that was called, if earlier states would change what it touches."""
        to_change = _is_to_change(row)
        tested = to_change and not chunk.args.keys().isdisjoint(CONDITIONS_BEFORE)
        edits = to_change and chunk.function in _EDITS
        if self._to_change and (tested or edits or not to_change):
            async with self._finding:
                touched = self._touched = self._touched or await self._find_touched()
            self._enter_new(touched)
            if tested or not to_change:
                self._complete(touched, chunk, row, tested=tested)
            if edits and not row.get(NOT_TOLD):
                met = {*self._edited(chunk, touched.by_all[chunk.index], row)}
                self._say(row, dict.fromkeys(self._before(chunk.index, met), f"{PATH}{chunk.name}"))
        if to_change and not row.get(NOT_TOLD) and (opposed := self._kinds.against(chunk)):
            self._say(row, {number: opposed[number] for number in self._before(chunk.index, opposed)})

    def _edited(self, chunk: LowChunk, footprint: Footprint, row: Row) -> Iterator[int]:
        """Yield the states that would change lines of a file which this one would change, or do not show which."""
        lines = _changed_lines(row)
        for places, _, _ in self._resources.placed((), footprint.writes):
            for number in (change.chunk for change in self._at.get(places[-1], ())):
                other = _changed_lines(self._to_change[number])
                unlike = self._plan.chunks[number].function != chunk.function
                if lines & other or (unlike and not (lines and other)):
                    yield number

    def _wait_for_changes(self, chunk: LowChunk, row: Row, families: Collection[RequisiteKind]) -> None:
        """Mark a row without changes as uncertain, if it waits for a state that does not show its changes."""
        targets = [each.node for each in self._plan.requisites[chunk.index] if each.kind.family in families]
        chunks = {self._plan.nodes[node].chunk for node in stands_for(self._plan, targets)} if targets else ()
        open_ = [number for number in chunks if number in self._to_change and not self._to_change[number]["changes"]]
        self._say(row, dict.fromkeys(open_, ""))

    @cached_property
    def _refused(self) -> dict[int, Contradiction]:
        """Return the states that a run as root refuses after earlier states have run, by the number of the chunk."""
        found = (each for each in self._plan.contradictions if each.code == "E431" and each.first < each.second)
        return {each.second: each for each in found}

    def _enter_refusal(self, chunk: LowChunk, row: Row) -> bool:
        """Return whether a run refuses the state because of an earlier change, and make its row say so."""
        refusal = self._refused.get(chunk.index)
        if row.get("skip_watch") or refusal is None or refusal.first not in self._to_change:
            return False
        keeps_owner = refusal.made and os.path.lexists(refusal.made)
        if keeps_owner or not self._before(chunk.index, (refusal.first,)):
            return False
        now = f" Now: {row['comment']}" if row["result"] is False and row["comment"] else ""
        row["result"], row["changes"] = False, {}
        row["comment"] = f"{refusal.message}; {refusal.hint}.{now}"
        row.pop("sub_state_run", None)  # a refused state calls no other
        return True

    def _enter_new(self, touched: Touched) -> None:
        """Enter the footprints of the states newly known to change something."""
        while self._new:
            number = self._new.pop()
            footprint = touched.by_all[number]
            for places, tree, _ in self._resources.placed((), footprint.writes):
                self._enter(places, _Change(number, tree=tree, entry=places[-1].is_entry))
            for name in footprint.makes:
                self._enter(self._resources.places(_folder(name).removeprefix(PATH)), _Change(number, made=True))

    def _enter(self, places: list[Place], change: _Change) -> None:
        self._at.setdefault(places[-1], []).append(change)
        in_folder = change.replaced(entry=False) if change.entry else change
        for place, below in pairwise(places):
            self._below.setdefault(place, []).append(change if below.is_entry else in_folder)

    def _complete(self, touched: Touched, chunk: LowChunk, row: Row, *, tested: bool) -> None:
        """Mark a row as uncertain, if an earlier state would change what the state touches or requires.

        ``tested``: the state would change because its conditions say so now; only the resources that these read count.
        """
        met: dict[int, str] = {}
        own = f"{PATH}{place_of(chunk)}"
        for number, name in self._met(touched, chunk, row, tested=tested):
            names = (met.get(number, ""), name)
            met[number] = max(names, key=lambda each: (each == own, each not in _ACCOUNT_FILES, len(each)))
        found = {number: met[number] for number in self._before(chunk.index, met)}
        if not found and not tested:
            found = dict.fromkeys(self._needed_unknown(touched, chunk, row), "")
        self._say(row, found)

    def _say(self, row: Row, found: dict[int, str]) -> None:
        """Mark a row as uncertain until the ``found`` states have run, if there are any."""
        if found:
            said = self._words(dict(sorted(found.items())[-_MOST_SHOWN:]))
            for each in (row, *sub_states(row)):
                _cannot_be_told(each, said)

    def _needed_unknown(self, touched: Touched, chunk: LowChunk, row: Row) -> set[int]:
        """Return the states of unknown effects that would change something before a state, and may change its row.

        A failed state may miss what those before it make; a state that requires others may find what those make.
        """
        unknown = {number for number in self._to_change if touched.by_all[number].unknown}
        if row["result"] is False:
            return set(self._before(chunk.index, unknown))
        own = touched.by_all[chunk.index]
        return unknown.intersection(self._required(chunk.index) if own.reads or own.writes or own.unknown else ())

    def _words(self, found: dict[int, str]) -> str:
        chunks = [self._plan.chunks[number] for number in found]
        states = dict.fromkeys(f"{chunk.sls}.{chunk.id}" if chunk.sls else chunk.id for chunk in chunks)
        things = ", ".join(filter(None, dict.fromkeys(map(_shown, found.values()))))
        has, change = ("has", "changes") if len(states) == 1 else ("have", "change")
        named = " and ".join(states)
        return f"This cannot be told before {named} {has} run{f', which {change} {things}' if things else ''}."

    def _met(self, touched: Touched, chunk: LowChunk, row: Row, *, tested: bool) -> Iterator[tuple[int, str]]:
        """Yield the states that would change what a state touches, with the name of the resource."""
        if row["result"] is False and not _is_busy(row):
            yield from ((number, "") for number in self._to_change if self._brings(number))
        skipped = row["result"] is True and row.get("skip_watch")
        of_conditions = touched.by_conditions if tested or skipped else {}
        footprint = of_conditions.get(chunk.index) or touched.by_all[chunk.index]
        beyond = not ((tested or skipped) and chunk.args.keys() & set(CONDITIONS_BEFORE) == {"creates"})
        reads = (*footprint.reads, *map(_folder, footprint.makes))
        for places, tree, writes in self._resources.placed(reads, footprint.writes):
            own = places[-1]
            for place in reversed(places):
                for change in self._at.get(place, ()):
                    if tested and place is not own and self._keeps(change):
                        continue  # in a folder that is made, what a condition found missing stays missing
                    if self._matters(change, place, chunk, row, written=writes and place is own):
                        yield change.chunk, place.name
            missing = row["result"] is False and not os.path.lexists(own.name.removeprefix(PATH))
            for change in self._below.get(own, ()) if beyond else ():
                # A state that makes something below a missing folder makes the folder, too.
                if (tree or change.entry or missing) and self._matters(change, own, chunk, row, written=writes):
                    yield change.chunk, own.name

    def _matters(self, change: _Change, place: Place, chunk: LowChunk, row: Row, *, written: bool) -> bool:
        """Whether a change at a place can lead to another row. ``written``: the chunk writes there, too."""
        if change.chunk >= chunk.index:
            return False
        name, other = place.name, self._plan.chunks[change.chunk]
        of_processes = name.partition(ENTRY)[0] == _PROCESSES
        if _is_busy(row):
            return other.fun != "running" if of_processes else other.state in _UNMOUNT
        if of_processes:
            return False
        if name.startswith(PATH) and not written and _has_its_packages(chunk, row):
            return False
        if name in _ACCOUNT_FILES:  # two accounts are two resources
            return bool(row.get("skip_watch")) or not {other.state, chunk.state} <= _ACCOUNT_STATES
        if name.startswith(PATH):
            return (
                not self._keeps(change) or (written and not change.made) or not os.path.isdir(name.removeprefix(PATH))
            )
        if row["result"] is False:
            return True
        if name.startswith("formula:"):
            if other.state == "cmd":  # its text does not say which packages are new
                return name.partition("/")[2].startswith(_PACKAGES)
            return other.state == "pkg" and self._brings_new(change.chunk)
        if name == "pkgdb":
            changes = self._touched.by_all[change.chunk].writes if self._touched else ()
            return not _has_its_packages(chunk, row) if other.state == "pkgrepo" else _PACKAGES[0] in changes
        if name == "accounts":
            return False
        if name.startswith(_ACCOUNTS):
            between = {other.state, chunk.state} <= _ACCOUNT_STATES
            return between or other.fun == "absent" or not _NUMBERS.isdisjoint(self._to_change[change.chunk]["changes"])
        return True

    def _keeps(self, change: _Change) -> bool:
        """Whether a change of a folder keeps its content."""
        return change.made or (self._plan.chunks[change.chunk].function in _KEEP_CONTENT and not change.tree)

    def _brings(self, number: int) -> bool:
        """Whether a state may make resources outside its footprint: accounts, units, programs, kernel settings."""
        kind = self._plan.chunks[number].state
        return kind == "kmod" or (kind == "pkg" and self._brings_new(number))

    def _brings_new(self, number: int) -> bool:
        """Whether a package state installs a new package."""
        changes = self._to_change[number]["changes"].values()
        return any(isinstance(change, dict) and not change.get("old") for change in changes)

    def _before(self, chunk: int, wanted: Collection[int]) -> Collection[int]:
        """Return the ``wanted`` chunks that a chunk waits for; only the direct ones, if there are any."""
        dag, rank, nodes = self._plan.dag, self._plan.rank, self._plan.nodes
        direct = [number for number in wanted if dag.sources(number, chunk)]
        if direct or not wanted:
            return direct
        found = set[int]()
        first = min(rank[number] for number in wanted)

        def later(node: int) -> bool:
            return nodes[node].kind in _WITHOUT_RANK or rank[node] > first

        for _, node in edges_through([chunk], dag.predecessors, later):
            if node in wanted:
                found.add(node)
                if len(found) == len(wanted):
                    break
        return found

    def _required(self, chunk: int) -> Iterator[int]:
        """Yield the chunks that a chunk requires."""
        for requisite in self._plan.requisites[chunk]:
            if requisite.kind.family is not RequisiteKind.ONFAIL:
                for node in self._plan.nodes[requisite.node].members or (requisite.node,):
                    if self._plan.nodes[node].chunk != -1:
                        yield self._plan.nodes[node].chunk


def _is_to_change(row: Row) -> bool:
    return row["result"] is None or (row["result"] is True and bool(row["changes"]))


def _has_its_packages(chunk: LowChunk, row: Row) -> bool:
    """Whether a package state finds all as wanted, whatever its sources and their settings offer."""
    as_wanted = chunk.state == "pkg" and row["result"] is True and not row.get("skip_watch")
    if not as_wanted or chunk.fun in _NEWEST or chunk.args.get("sources"):
        return False
    versions = [version for each in chunk.args.get("pkgs") or () if isinstance(each, dict) for version in each.values()]
    return "latest" not in (chunk.args.get("version"), *versions)


def _is_busy(row: Row) -> bool:
    return row["result"] is False and _BUSY in str(row["comment"])


def _cannot_be_told(row: Row, said: str) -> None:
    comment = row.get("comment")
    now = "\n".join(map(str, comment)) if isinstance(comment, list) else comment
    row["comment"] = f"{said} Now: {now}" if now else said
    row["result"], row["changes"], row[NOT_TOLD] = None, {}, True


def _changed_lines(row: Row) -> set[str]:
    """Return the lines that a row shows as added or removed, without the type that ``file.keyvalue`` adds."""
    shown = str(row["changes"].get("diff", "")).splitlines()
    lines = (line for line in shown if line.startswith(("+", "-")) and not line.startswith(("+++ ", "--- ")))
    return {_TYPE_SHOWN.sub("", line[1:]).strip() for line in lines}


def _folder(made: str) -> str:
    return folder_and_marks(made)[0]


def _shown(name: str) -> str:
    """Return a resource as text; "" for one that only the compiler has a name for."""
    if name.startswith(PATH):
        return name.removeprefix(PATH)
    kind, _, own = name.partition(":")
    return f"{kind} {own.partition('#')[0]}" if kind in _SHOWN_KINDS else ""
