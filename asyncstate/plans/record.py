"""PlanRecord: a plan as data. It shows no secret, and cannot be run, as hidden values cannot be recovered.

It is read and written as JSON. Input is not trusted: it may be old, truncated, damaged or hostile. A document of
unknown origin goes through `require_bounds` first, which bounds its memory; a plan of the journal may be larger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from asyncstate.errors import PlanError
from asyncstate.model.chunk import LowChunk, file_line
from asyncstate.model.dag import Dag
from asyncstate.model.encode import JSON, encoded
from asyncstate.model.plan import ContingentEdge, Node, NodeKind, Plan
from asyncstate.model.requisite import Requisite, RequisiteKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


VERSION: Final = 1
"""The version of the format. A reader refuses any other."""

KindName = Literal["check", "set", "stage", "group", "listener", "remote"]


class Selection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The part of a tree that was compiled.

    ``sls`` is None for the highstate; ``file`` is one file in place of SLS files. ``saltenv``, ``exclude`` and ``ids``
    are the options of these names (`--id`). ``pillar`` are the names of the keys given on the command line: their
    values may be secrets, so they must be given again.
    """

    sls: tuple[str, ...] | None = None
    saltenv: str | None = None
    exclude: tuple[str | dict[str, str], ...] = ()
    ids: tuple[str, ...] = ()
    file: str = ""
    pillar: tuple[str, ...] = ()


class Inputs(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The digests of a plan's inputs, by name.

    ``files`` are the files of the tree that the compiler read or that states fetch (``salt://web/init.sls``),
    ``pillar`` and ``grains`` the top-level keys, ``plugins`` the plugin files of the tree and the version of this
    package, ``options`` the settings that affect a run.
    """

    files: dict[str, str] = {}
    pillar: dict[str, str] = {}
    grains: dict[str, str] = {}
    plugins: dict[str, str] = {}
    options: dict[str, str] = {}


class ChunkRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One state of the plan; its number is its place among them, from 0.

    ``tag`` is the key of its row, made of ``state``, ``id``, ``name`` and ``fun``; ``sls`` is its SLS. ``env`` is its
    environment, ``order`` its order, ``file`` and ``line`` its declaration. ``requisites`` are ``[kind, node]`` for
    each state, or set of states, that it refers to.

    ``args`` are shown as in every output, secrets masked; ``hidden`` has a digest for each field and argument that is
    not shown as it is. ``digest`` covers function, ID, name, SLS, arguments and resolved requisites, but not the
    place of the state in the plan. ``failhard``, ``exclusive`` and ``lanes`` are its treatment in a run.
    """

    tag: str
    state: str
    fun: str
    id: str
    name: Any
    sls: str
    digest: str
    env: str = "base"
    order: int | float = 0
    file: str = ""
    line: int = 0
    args: dict[str, Any] = {}
    hidden: dict[str, str] = {}
    requisites: tuple[tuple[RequisiteKind, int], ...] = ()
    failhard: bool = False
    exclusive: bool = False
    lanes: tuple[str, ...] = ()

    @property
    def function(self) -> str:
        """``state.fun``."""
        return f"{self.state}.{self.fun}"

    @property
    def place(self) -> str:
        """``file:line``, as far as known."""
        return file_line(self.file, self.line)


class NodeRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A node of the graph that is not a state. Nodes are numbered: the states first, then these.

    ``kind``: a check (of a state in test mode, for a `prereq`), a set (several targets in one), a stage (a barrier
    between explicit orders), a group (aggregated states), a listener. ``chunk`` is the number of the state, for a check
    or a listener. ``members`` are the nodes that it joins, ``label`` is its name, ``transaction`` whether
    a group was formed by default.
    """

    kind: KindName
    chunk: int = -1
    members: tuple[int, ...] = ()
    label: str = ""
    transaction: bool = False


class EdgeRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """``[before, after, sources, resources]``: one node waits for another. ``resources`` cause a footprint."""

    before: int
    after: int
    sources: tuple[str, ...]
    resources: tuple[str, ...] = ()


class ContingentRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """``[before, after, proof, resources]``: an edge that no longer binds once the state ``proof`` has succeeded."""

    before: int
    after: int
    proof: int
    resources: tuple[str, ...] = ()


class PlanRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A plan as data.

    ``program`` is the version of asyncstate that wrote it, ``version`` the format's, ``host`` the ID of the host.
    ``digest`` covers the whole plan. ``key`` names the key of the digests: those of two records can be compared
    only if it is the same. ``selection`` is the compiled part of the tree, ``inputs`` its inputs. ``chunks`` are the
    states in the order of a serial run without checks in between, ``nodes`` the other nodes. ``edges`` are the waits of
    nodes for others, ``contingent`` those that may end early. ``rank`` is the place of each node in the serial order.
    ``lanes`` are the places of each lane. ``foreseen`` are the tags of the rows in which a dry run would change
    something; None without a dry run.
    """

    version: int
    program: str = ""
    host: str = ""
    key: str = ""
    digest: str = ""
    selection: Selection = Selection()
    inputs: Inputs = Inputs()
    chunks: tuple[ChunkRecord, ...] = ()
    nodes: tuple[NodeRecord, ...] = ()
    edges: tuple[EdgeRecord, ...] = ()
    contingent: tuple[ContingentRecord, ...] = ()
    rank: tuple[int, ...] = ()
    lanes: dict[str, int] = {}
    foreseen: tuple[str, ...] | None = None

    def plan(self) -> Plan:
        """Return a plan with this graph, on which a `Machine` can be built. It must not be dispatched.

        Values hidden in this record are hidden in the plan.
        """
        chunks = tuple(
            LowChunk(
                index,
                chunk.state,
                chunk.fun,
                chunk.id,
                chunk.name,
                chunk.sls,
                chunk.env,
                chunk.order,
                chunk.args,
                file=chunk.file,
                declared=chunk.line,
            )
            for index, chunk in enumerate(self.chunks)
        )
        dag = Dag(len(self.chunks) + len(self.nodes))
        for edge in self.edges:
            for source in edge.sources:
                dag.add(edge.before, edge.after, source, edge.resources if source == "footprint" else ())
        return Plan(
            chunks,
            (
                *(Node(NodeKind.CHUNK, index) for index in range(len(chunks))),
                *(
                    Node(NodeKind[node.kind.upper()], node.chunk, node.members, node.label, node.transaction)
                    for node in self.nodes
                ),
            ),
            tuple(tuple(Requisite(kind, node) for kind, node in chunk.requisites) for chunk in self.chunks),
            self.rank,
            dag,
            tuple(ContingentEdge(edge.before, edge.after, edge.proof, edge.resources) for edge in self.contingent),
            saltenv=self.selection.saltenv or "base",
            digest=self.digest,
        )

    @property
    def failhard(self) -> frozenset[int]:
        """The states whose failure stops the run."""
        return frozenset(index for index, chunk in enumerate(self.chunks) if chunk.failhard)

    @property
    def exclusive(self) -> frozenset[int]:
        """The states that run alone."""
        return frozenset(index for index, chunk in enumerate(self.chunks) if chunk.exclusive)

    @property
    def lanes_of(self) -> dict[int, tuple[str, ...]]:
        """The lanes of each state in any."""
        return {index: chunk.lanes for index, chunk in enumerate(self.chunks) if chunk.lanes}


LARGEST: Final = 1 << 27
"""The maximum of bytes of a plan file: a plan of 100,000 states has about 60 million."""
_MOST_VALUES: Final = 12_000_000
"""The maximum of values in a plan file: a few bytes of JSON can become a hundred bytes of memory."""

_PIECE: Final = 1 << 16
_AGAIN: Final = "Make it again: asyncstate plan --plan-out FILE"


class _Version(msgspec.Struct):
    version: int


def encode(record: PlanRecord, indent: int = 0) -> bytes:
    """Return a record as JSON; with ``indent``, in a form that people can read."""
    data = encoded(record)
    return msgspec.json.format(data, indent=indent) + b"\n" if indent else data


def encode_pieces(frame: PlanRecord, parts: Mapping[str, Iterable[msgspec.Struct]]) -> Iterator[bytes]:
    """Yield a record as JSON in pieces of about 64 KiB. ``frame`` has all but its long fields, which ``parts`` has."""
    piece = bytearray(encoded(frame)[:-1])
    for name, values in parts.items():
        piece += b',"%b":[' % name.encode()
        between = b""
        for value in values:
            piece += between
            JSON.encode_into(value, piece, -1)
            between = b","
            if len(piece) > _PIECE:
                yield bytes(piece)
                piece.clear()
        piece += b"]"
    yield bytes(piece + b"}")


def require_bounds(data: bytes, origin: str) -> None:
    """Raise PlanError for a document that is too large to be read; writers call it, too."""
    if len(data) > LARGEST:
        raise PlanError(f"{origin}: this plan cannot be read: it has more than {LARGEST >> 20} MiB")
    if sum(map(data.count, (b",", b":", b"["))) > _MOST_VALUES:
        raise PlanError(f"{origin}: this plan cannot be read: it has more than {_MOST_VALUES:,} values")


def decode(data: bytes, origin: str = "the plan", again: str = _AGAIN) -> PlanRecord:
    """Return the record that `encode` wrote.

    Raises PlanError, which names ``origin`` and the mistake, and ends with ``again``: advice on the next step.
    """
    try:
        version = msgspec.json.decode(data, type=_Version).version
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise PlanError(f"{origin}: this is no plan, or not all of one: {_said(error)}. {again}") from None
    if version != VERSION:
        raise PlanError(f"{origin}: this plan has version {version}; this asyncstate reads version {VERSION}. {again}")
    try:
        record = msgspec.json.decode(data, type=PlanRecord)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise PlanError(f"{origin}: this is no plan, or not all of one: {_said(error)}. {again}") from None
    mistake = _mistake(record)
    if mistake:
        raise PlanError(f"{origin}: this plan is damaged: {mistake}. {again}")
    return record


def _said(error: BaseException) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error).rstrip(".")


def _mistake(record: PlanRecord) -> str:
    """Return what is wrong with the numbers of a record, "" if nothing is."""
    chunks, size = len(record.chunks), len(record.chunks) + len(record.nodes)
    if len(record.rank) != size:
        return f"it has {size} nodes, but {len(record.rank)} places in the serial order"
    for chunk in record.chunks:
        if any(not 0 <= node < size for _, node in chunk.requisites):
            return f"{chunk.tag} refers to a node that does not exist"
    joined = {number for number, node in enumerate(record.nodes, chunks) if node.members}
    for number, node in enumerate(record.nodes, chunks):
        if not -1 <= node.chunk < chunks or (node.chunk < 0 and node.kind in ("check", "listener")):
            return f"node {number} refers to a state that does not exist"
        last = chunks if node.kind == "group" else size
        if not all(0 <= member < last for member in node.members) or not joined.isdisjoint(node.members):
            return f"node {number} has a member that cannot be one"
    if any(places < 1 for places in record.lanes.values()):
        return "a lane has no place"
    return _mistake_of_edges(record, chunks, size)


def _mistake_of_edges(record: PlanRecord, chunks: int, size: int) -> str:
    last = {number for number, node in enumerate(record.nodes, chunks) if node.kind == "listener"}
    graph = Dag(size)
    edges: tuple[EdgeRecord | ContingentRecord, ...] = (*record.edges, *record.contingent)
    for edge in edges:
        if not (0 <= edge.before < size and 0 <= edge.after < size):
            return "there is an edge to a node that does not exist"
        if edge.before in last or edge.after in last:
            return "there is an edge to a listener"
        graph.add(edge.before, edge.after, "")
    if any(not 0 <= edge.proof < size for edge in record.contingent):
        return "an edge has a proof that does not exist"
    return "" if len(graph.topological_order(int)) == size else "its states wait for one another in a circle"
