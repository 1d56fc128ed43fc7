"""Compares two plan records: finds the states, arguments, edges, places in the order and inputs that differ."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from asyncstate.model.dag import FOOTPRINT
from asyncstate.plans.inputs import canonical
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from asyncstate.plans.record import ChunkRecord, PlanRecord

_FIELDS = ("state", "fun", "id", "name", "sls", "env")
_TREATED = ("failhard", "exclusive", "lanes")
_CHECK, _GROUP = "check of ", "group of "
"""The prefixes of the names of nodes that belong to a state."""


class ArgumentChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """An argument, or another property of a state, before and after; UNSET where there is none.

    ``hidden``: the value changed, but it is not shown.
    """

    name: str
    before: Any | UnsetType = UNSET
    after: Any | UnsetType = UNSET
    hidden: bool = False


class StateChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A state that was added, removed or changed. ``place`` is its declaration, in the last record that has it.

    ``was`` is its tag before, if that differs.
    """

    tag: str
    sls: str = ""
    place: str = ""
    was: str = ""
    arguments: tuple[ArgumentChange, ...] = ()


class Move(msgspec.Struct, frozen=True):
    """A state with another place in the serial order: the state before it, then and now ("": it is first)."""

    tag: str
    behind_before: str
    behind_after: str


class EdgeChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """An edge of one source that only one record has. ``between_kept``: both records have the states at its ends."""

    before: str
    after: str
    source: str
    resources: tuple[str, ...] = ()
    between_kept: bool = True


class InputChange(msgspec.Struct, frozen=True):
    """An input that differs. ``kind`` is a field of `Inputs`, ``how`` is added, removed or changed."""

    kind: str
    name: str
    how: str


class Differences(msgspec.Struct, frozen=True):
    """The differences between a later and an earlier record.

    ``comparable``: the digests have the same key, so hidden values and inputs were compared; else only shown values.
    """

    comparable: bool
    added: tuple[StateChange, ...] = ()
    removed: tuple[StateChange, ...] = ()
    changed: tuple[StateChange, ...] = ()
    moved: tuple[Move, ...] = ()
    edges_added: tuple[EdgeChange, ...] = ()
    edges_removed: tuple[EdgeChange, ...] = ()
    selection: tuple[ArgumentChange, ...] = ()
    inputs: tuple[InputChange, ...] = ()

    @property
    def of_states(self) -> bool:
        """Whether states were added, removed or changed."""
        return bool(self.added or self.removed or self.changed)

    @property
    def of_plan(self) -> bool:
        """Whether states, their order or the edges between them differ."""
        return self.of_states or bool(self.moved or self.edges_added or self.edges_removed)

    @property
    def any(self) -> bool:
        """Whether anything differs."""
        return self.of_plan or bool(self.inputs or self.selection)


def compare(before: PlanRecord, after: PlanRecord) -> Differences:
    """Return the differences between an earlier and a later record."""
    comparable = bool(before.key) and before.key == after.key
    pairs, removed, added = paired(before.chunks, after.chunks)
    names_before, names_after = names_of(before, after, pairs)
    nodes_before, nodes_after = _node_names(before, names_before), _node_names(after, names_after)
    edges_before, edges_after = _edges(before, nodes_before), _edges(after, nodes_after)
    states = {names_before[index] for index in removed} | {names_after[index] for index in added}
    gone = {f"{what}{name}" for name in states for what in ("", _CHECK, _GROUP)}
    return Differences(
        comparable,
        tuple(_entry(after.chunks[index]) for index in added),
        tuple(_entry(before.chunks[index]) for index in removed),
        tuple(
            change
            for old, new in pairs
            if (change := _Pair(before, after, nodes_before, nodes_after, comparable).change(old, new)) is not None
        ),
        _moves(before, after, pairs),
        tuple(_edges_beyond(edges_after, edges_before, gone)),
        tuple(_edges_beyond(edges_before, edges_after, gone)),
        tuple(_selection(before, after)),
        tuple(_inputs(before, after)) if comparable else (),
    )


def paired(
    before: Sequence[ChunkRecord], after: Sequence[ChunkRecord]
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Return the pairs of states in two records that are the same state, and the remaining states of each.

    Pairs have the same tag; of the others, the same module and the same ID, preferably in the same SLS.
    """
    pairs: list[tuple[int, int]] = []
    left, right = list(range(len(before))), list(range(len(after)))
    for alike in _ALIKE:
        waiting: dict[object, deque[int]] = defaultdict(deque)
        for index in left:
            waiting[alike(before[index])].append(index)
        found = {index: waiting[key].popleft() for index in right if waiting.get(key := alike(after[index]))}
        pairs += [(old, new) for new, old in found.items()]
        taken = set(found.values())
        left = [index for index in left if index not in taken]
        right = [index for index in right if index not in found]
    return sorted(pairs, key=lambda pair: pair[1]), left, right


def names_of(before: PlanRecord, after: PlanRecord, pairs: Iterable[tuple[int, int]]) -> tuple[list[str], list[str]]:
    """Return the names of the states of two records: their tags, and for a pair in both the tag in the later one."""
    names_before, names_after = ([chunk.tag for chunk in record.chunks] for record in (before, after))
    for old, new in pairs:
        names_before[old] = names_after[new]
    return names_before, names_after


_ALIKE: tuple[Callable[[ChunkRecord], object], ...] = (
    lambda chunk: chunk.tag,
    lambda chunk: (chunk.sls, chunk.state, chunk.id),
    lambda chunk: (chunk.state, chunk.id),
)


def _node_names(record: PlanRecord, chunks: Sequence[str]) -> list[str]:
    """Return a name for each node by which to find it in another record; different nodes have different names."""
    names = list(chunks)
    for node in record.nodes:
        match node.kind:
            case "check":
                name = f"{_CHECK}{chunks[node.chunk]}"
            case "group":
                name = f"{_GROUP}{chunks[node.members[0]]}" if node.members else "group"
            case _:
                name = f"{node.kind} {node.label}".rstrip()
        names.append(name)
    seen: Counter[str] = Counter()
    for number, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            names[number] = f"{name} ({seen[name]})"
    return names


class _Pair(Value):
    """Compares paired states."""

    before: PlanRecord
    after: PlanRecord
    nodes_before: Sequence[str]
    nodes_after: Sequence[str]
    comparable: bool

    def change(self, old: int, new: int) -> StateChange | None:
        """Return the change of a state, None if nothing changed."""
        left, right = self.before.chunks[old], self.after.chunks[new]
        found = [
            ArgumentChange(name, _listed(getattr(left, name)), _listed(getattr(right, name)))
            for name in _TREATED
            if getattr(left, name) != getattr(right, name)
        ]
        if not self.comparable or left != right:  # the readable part may have been altered, and the digest kept
            found = [*self._arguments(left, right), *self._requisites(left, right), *found]
            if self.comparable and not found and left.digest != right.digest:
                found = [ArgumentChange("what it refers to", hidden=True)]
        if not found:
            return None
        was = left.tag if left.tag != right.tag else ""
        return StateChange(right.tag, right.sls, right.place or left.place, was, tuple(found))

    def _arguments(self, left: ChunkRecord, right: ChunkRecord) -> Iterator[ArgumentChange]:
        values = (
            *((name, getattr(left, name), getattr(right, name)) for name in _FIELDS),
            *((name, left.args.get(name, UNSET), right.args.get(name, UNSET)) for name in {**left.args, **right.args}),
        )
        for name, mine, theirs in values:
            if mine is UNSET or theirs is UNSET or canonical(mine) != canonical(theirs):
                yield ArgumentChange(name, mine, theirs)
            elif self.comparable and left.hidden.get(name) != right.hidden.get(name):
                yield ArgumentChange(name, hidden=True)

    def _requisites(self, left: ChunkRecord, right: ChunkRecord) -> Iterator[ArgumentChange]:
        """Yield the requisites that refer to other states than before, although their text is the same."""
        mine, theirs = _referred(left, self.before, self.nodes_before), _referred(right, self.after, self.nodes_after)
        for kind in {**mine, **theirs}:
            if mine.get(kind) != theirs.get(kind) and left.args.get(kind) == right.args.get(kind):
                yield ArgumentChange(kind, mine.get(kind, UNSET), theirs.get(kind, UNSET))


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _referred(chunk: ChunkRecord, record: PlanRecord, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the states that a chunk refers to, by kind of requisite; the members of a set in place of it."""
    found: dict[str, list[str]] = {}
    states = len(record.chunks)
    for kind, node in chunk.requisites:
        members = record.nodes[node - states].members if node >= states else ()
        found.setdefault(kind.value, []).extend(names[member] for member in members or (node,))
    return {kind: sorted(targets) for kind, targets in found.items()}


def _moves(before: PlanRecord, after: PlanRecord, pairs: Iterable[tuple[int, int]]) -> tuple[Move, ...]:
    """Return the fewest states whose moves explain the new order."""
    by_rank = sorted(pairs, key=lambda pair: after.rank[pair[1]])
    places = [before.rank[old] for old, _ in by_rank]
    stay = _longest_rise(places)
    names = {old: after.chunks[new].tag for old, new in by_rank}
    once = [names[old] for old in sorted(names, key=lambda old: before.rank[old])]
    behind_before = dict(zip(once, ["", *once], strict=False))
    now = [names[old] for old, _ in by_rank]
    return tuple(
        Move(tag, behind_before[tag], now[place - 1] if place else "")
        for place, tag in enumerate(now)
        if place not in stay
    )


def _longest_rise(numbers: Sequence[int]) -> set[int]:
    """Return the places of a longest rising subsequence."""
    ends: list[int] = []
    lasts: list[int] = []
    via = [-1] * len(numbers)
    for place, number in enumerate(numbers):
        at = bisect_left(ends, number)
        via[place] = lasts[at - 1] if at else -1
        ends[at : at + 1] = [number]
        lasts[at : at + 1] = [place]
    found: set[int] = set()
    place = lasts[-1] if lasts else -1
    while place >= 0:
        found.add(place)
        place = via[place]
    return found


def _edges(record: PlanRecord, names: Sequence[str]) -> dict[tuple[str, str, str], tuple[str, ...]]:
    """Return the resources of each edge, by the names of its ends and its source."""
    found = {
        (names[edge.before], names[edge.after], source): edge.resources if source == FOOTPRINT else ()
        for edge in record.edges
        for source in edge.sources
    }
    for each in record.contingent:
        found[names[each.before], names[each.after], f"unless {names[each.proof]} succeeds"] = each.resources
    return found


def _edges_beyond(
    mine: Mapping[tuple[str, str, str], tuple[str, ...]],
    theirs: Mapping[tuple[str, str, str], tuple[str, ...]],
    gone: Container[str],
) -> Iterator[EdgeChange]:
    for (before, after, source), resources in mine.items():
        if (before, after, source) not in theirs:
            yield EdgeChange(before, after, source, resources, before not in gone and after not in gone)


def _selection(before: PlanRecord, after: PlanRecord) -> Iterator[ArgumentChange]:
    for name in before.selection.__struct_fields__:
        mine, theirs = getattr(before.selection, name), getattr(after.selection, name)
        if mine != theirs:
            yield ArgumentChange(name, _listed(mine), _listed(theirs))
    if before.host != after.host:
        yield ArgumentChange("host", before.host, after.host)
    if before.lanes != after.lanes:
        yield ArgumentChange("lanes", before.lanes, after.lanes)


def _inputs(before: PlanRecord, after: PlanRecord) -> Iterator[InputChange]:
    for kind in before.inputs.__struct_fields__:
        mine, theirs = getattr(before.inputs, kind), getattr(after.inputs, kind)
        for name in {**mine, **theirs}:
            if name not in theirs:
                yield InputChange(kind, name, "removed")
            elif name not in mine:
                yield InputChange(kind, name, "added")
            elif mine[name] != theirs[name]:
                yield InputChange(kind, name, "changed")


def _entry(chunk: ChunkRecord) -> StateChange:
    return StateChange(chunk.tag, chunk.sls, chunk.place)
