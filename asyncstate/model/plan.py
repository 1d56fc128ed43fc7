"""Plan: the compiler's output and the scheduler's input."""

from __future__ import annotations

import hashlib
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.errors import Issue
from asyncstate.model.chunk import LowChunk
from asyncstate.model.dag import FILE_ORDER, FOOTPRINT, GROUP, SET, STAGE, Dag
from asyncstate.model.encode import SORTED, encoded, plain
from asyncstate.model.event import Phase
from asyncstate.model.requisite import FLEET_LANE, FLEET_ORDER, RemoteRequisite, Requisite, RequisiteKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class NodeKind(IntEnum):
    """The kinds of graph nodes.

    CPython 3.11 takes ten times as long to read a member as a global name: what runs for each state reads it once.
    """

    CHUNK = 0
    """Run a chunk."""
    CHECK = 1
    """Run a chunk in test mode, for the chunks that name it in ``prereq``. It has no row of its own."""
    SET = 2
    """Ends when all its members have ended: one node for an ``sls:`` or a glob keeps the number of edges linear."""
    STAGE = 3
    """A barrier between explicit orders."""
    GROUP = 4
    """Joins its members before the first of them runs: calls ``mod_aggregate``, or gives them each other's low data."""
    LISTENER = 5
    """After all other nodes, calls ``mod_watch`` of a chunk if one of its members, the targets, has changes."""
    REMOTE = 6
    """Ends when a state of another host ends. Only other nodes wait for it; it takes no slot."""


TIMELESS = frozenset({NodeKind.SET, NodeKind.STAGE})
"""The kinds of nodes that end as soon as all their predecessors have ended."""
_TAKEN = frozenset({NodeKind.CHUNK, NodeKind.CHECK, NodeKind.GROUP})


EDGE_SOURCES = frozenset(
    {*(kind.value for kind in RequisiteKind), FOOTPRINT, STAGE, FILE_ORDER, GROUP, SET, FLEET_ORDER, FLEET_LANE}
) - {RequisiteKind.LISTEN.value}
"""The sources of a plan's edges. A listener comes after all other nodes without any."""


class Node(msgspec.Struct, frozen=True, gc=False):
    """A node of the graph. ``chunk`` is an index for CHUNK, CHECK and LISTENER, else -1; ``members`` are node numbers.

    A REMOTE's ``label`` names the host and the state. A LISTENER's ``label`` is the tag of its row. Of several
    listeners with the same label, only one is called. A GROUP that is a ``transaction`` was formed by default: each
    member keeps its own low data, place and row.
    """

    kind: NodeKind
    chunk: int = -1
    members: tuple[int, ...] = ()
    label: str = ""
    transaction: bool = False

    @property
    def takes_time(self) -> bool:
        """Whether it ends only after its predecessors: all but sets and stages."""
        return self.kind not in TIMELESS

    @property
    def takes_a_slot(self) -> bool:
        """Whether a slot takes it in its place in the order: chunks, checks and groups."""
        return self.kind in _TAKEN


class BrokenListener(msgspec.Struct, frozen=True):
    """A ``listen_in`` to a state that does not exist. Its ``row`` is added if one of ``targets`` has changes."""

    targets: tuple[int, ...]
    tag: str
    row: dict[str, Any]


class ContingentEdge(msgspec.Struct, frozen=True, gc=False):
    """``before`` ends before ``after`` starts, unless the state ``proof`` runs and succeeds first.

    If the proof leaves a folder behind, a state that would make the folder and one that needs it do not conflict.
    ``resources`` are the names of the folders.
    """

    before: int
    after: int
    proof: int
    resources: tuple[str, ...] = ()


class Contradiction(msgspec.Struct, frozen=True, gc=False):
    """Two chunks that contradict each other, by index; ``code`` is the kind of contradiction: E430 or E431.

    The ``message`` is about the second, ``thing`` is their common subject. If not ``certain``, only a run shows whether
    they do. ``made``: only if the first makes this folder, "" if it does not matter.
    """

    code: str
    first: int
    second: int
    message: str
    hint: str
    thing: str = ""
    certain: bool = True
    made: str = ""


class Plan(msgspec.Struct, frozen=True):
    """The chunks in serial order, and the graph between them. A pure function of the compiler's inputs.

    ``nodes[i]`` for ``i < len(chunks)`` is chunk ``i``; checks, sets, stages, groups and listeners follow. ``rank`` is
    the place of each node in the serial order (sets and stages need none, for they take no time). Listeners come after
    all other nodes and have no edges. ``requisites[i]`` are the resolved requisites of chunk ``i``; a ``prereq`` points
    to a CHECK node. ``rows`` holds the rows that are known before the run: states disabled by a grain, listeners that
    refer to nothing, "no states". ``contingent`` are edges that only a failure makes binding. ``unknown`` gives, for
    each chunk that may touch more than it declares, the reason: only the tree itself orders it. ``entries`` are the
    files in which a chunk touches single entries only: unordered chunks touch other entries. ``not_aggregated`` gives
    the reason why a chunk that could be aggregated is in no group, or not in the one before. ``contradictions`` are
    states that undo each other's work, and states that a run refuses because of an earlier one. ``remote`` are
    requisites on states of other hosts, which the hosts resolve together; ``elsewhere`` has the state of each REMOTE
    node, a chunk without index and arguments. ``files`` are the files of the tree that the compiler read or found, with
    the sha256 of their content ("" if only found). ``phases`` are the times of making the plan; only they differ each
    time. ``digest`` is the same in every process and for every hash seed; secrets count, so the digest to show is
    `RedactedPlan.digest`.
    """

    chunks: tuple[LowChunk, ...]
    nodes: tuple[Node, ...]
    requisites: tuple[tuple[Requisite, ...], ...]
    rank: tuple[int, ...]
    dag: Dag = msgspec.field(default_factory=Dag)
    contingent: tuple[ContingentEdge, ...] = ()
    broken_listeners: tuple[BrokenListener, ...] = ()
    unknown: dict[int, str] = {}
    entries: dict[int, tuple[str, ...]] = {}
    not_aggregated: dict[int, str] = {}
    contradictions: tuple[Contradiction, ...] = ()
    remote: tuple[RemoteRequisite, ...] = ()
    elsewhere: dict[int, LowChunk] = {}
    rows: dict[str, dict[str, Any]] = {}
    warnings: tuple[Issue, ...] = ()
    saltenv: str = "base"
    files: dict[str, str] = {}
    phases: tuple[Phase, ...] = ()
    digest: str = ""

    @property
    def listeners(self) -> tuple[Node, ...]:
        """The LISTENER nodes, in the order of their calls."""
        return tuple(node for node in self.nodes[len(self.chunks) :] if node.kind is NodeKind.LISTENER)

    @property
    def turns(self) -> tuple[tuple[int, ...], ...]:
        """The members of each transaction. They run one at a time, in serial order, without edges between them."""
        return tuple(node.members for node in self.nodes[len(self.chunks) :] if node.transaction)

    @property
    def checks(self) -> dict[int, int]:
        """The CHECK node of each chunk that has one."""
        others = range(len(self.chunks), len(self.nodes))
        return {self.nodes[each].chunk: each for each in others if self.nodes[each].kind is NodeKind.CHECK}

    def each_edge(self) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """Yield the edges, each once with its sources, then the contingent ones."""
        for before, after, sources, _ in self.dag.joined():
            yield before, after, sources
        for edge in self.contingent:
            yield edge.before, edge.after, (FOOTPRINT,)

    def in_turn(self, priority: Sequence[int]) -> Sequence[int]:
        """Return a priority, a number for each node, with the serial order within each transaction."""
        turns = self.turns
        if not turns:
            return priority
        numbers = list(priority)
        for members in turns:
            for member, number in zip(members, sorted(numbers[each] for each in members), strict=True):
                numbers[member] = number
        return tuple(numbers)

    def target_of(self, node: int) -> LowChunk:
        """Return the state that a requisite on this node names: of this host, or of another."""
        return self.elsewhere.get(node) or self.chunks[self.nodes[node].chunk]

    def calls_of(self, chunk: int) -> tuple[int, ...]:
        """Return the nodes that call a chunk in its place: its own and, if it has one, its check."""
        check = self.checks.get(chunk)
        return (chunk,) if check is None else (chunk, check)

    def chunks_of(self, node: int) -> tuple[int, ...]:
        """Return the numbers of the chunks that a CHUNK, CHECK or LISTENER node calls, or a GROUP joins."""
        what = self.nodes[node]
        return tuple(self.nodes[each].chunk for each in what.members if what.kind is NodeKind.GROUP) or (what.chunk,)

    def chunk_of(self, node: int) -> LowChunk:
        """Return the chunk that a CHUNK, CHECK or LISTENER node calls, of a GROUP the first one."""
        what = self.nodes[node]
        if what.kind is NodeKind.GROUP:
            return self.chunk_of(what.members[0])
        chunk = self.chunks[what.chunk]
        return chunk.as_listener() if what.kind is NodeKind.LISTENER else chunk

    def lowstate(self) -> list[dict[str, Any]]:
        """Return low data as Salt's ``state.show_lowstate`` does, in serial order.

        The target of a prereq appears twice: where it is checked, and where it runs.
        """
        asking = {
            index
            for index, requisites in enumerate(self.requisites)
            if any(requisite.kind is RequisiteKind.PREREQ for requisite in requisites)
        }
        checked = self.checks
        places = [
            (self.rank[number], node.chunk)
            for number, node in enumerate(self.nodes)
            if node.kind in {NodeKind.CHUNK, NodeKind.CHECK}
        ]
        lowstate = []
        for _, index in sorted(places):
            low = self.chunks[index].as_low()
            if index in asking:
                low["__prerequiring__"] = True
            if index in checked:
                low["__prereq__"] = True
            lowstate.append(low)
        return lowstate


def plan_digest(
    chunks: tuple[LowChunk, ...], nodes: tuple[Node, ...], dag: Dag, contingent: Sequence[ContingentEdge] = ()
) -> str:
    """Return the sha256 of the canonical JSON of everything that decides what a run does.

    File and line of a declaration are left out: moving a state within its file changes only its order.
    """
    body = list(map(_deciding, chunks))
    graph = [(node.kind, node.chunk, node.members) for node in nodes[len(chunks) :]]
    digest = hashlib.sha256(_encoded(body, graph))
    digest.update(encoded(list(dag.packed())))
    if contingent:
        digest.update(encoded([(edge.before, edge.after, edge.proof) for edge in contingent]))
    return digest.hexdigest()


def _encoded(body: list[Any], *more: Any) -> bytes:
    try:
        return encoded((body, *more), msgspec.json.Encoder(order="deterministic", enc_hook=repr))
    except BaseException:  # noqa: BLE001 - a Python renderer may put any object into a tree; its repr can raise anything
        return encoded((_plain(body), *more), SORTED)


def _deciding(chunk: LowChunk) -> list[Any]:
    return [chunk.index, chunk.state, chunk.fun, chunk.id, chunk.name, chunk.sls, chunk.env, chunk.order, chunk.args]


def chunk_texts(chunks: Sequence[LowChunk]) -> Iterator[str]:
    """Yield the input of `plan_digest` from the chunks, as texts of several chunks each."""
    for first in range(0, len(chunks), _TOGETHER):
        yield _encoded(list(map(_deciding, chunks[first : first + _TOGETHER]))).decode()


_TOGETHER = 1000


def _plain(value: Any) -> Any:
    """Return an equivalent that JSON can express: for keys that are not strings, lone surrogates, and objects."""
    if isinstance(value, dict):
        pairs = ([_key(key), _plain(item)] for key, item in value.items())
        return sorted(pairs, key=lambda pair: str(pair[0]))
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return plain(value)


def _key(key: Any) -> str:
    return repr(key) if type(key) in (str, int, float, bool, bytes, type(None)) else str(plain(key))


def places_of(plan: Plan | None, tags: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Return file and line of these states, by tag; an unknown line is 0. Finding a line reads its file."""
    wanted = set(tags)
    chunks = plan.chunks if plan and wanted else ()
    return {chunk.tag: (chunk.file, chunk.line) for chunk in chunks if chunk.file and chunk.tag in wanted}
