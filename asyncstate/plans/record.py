"""PlanRecord: a plan as data. It shows no secret, and cannot be run, as hidden values cannot be recovered."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from asyncstate.model.chunk import LowChunk, file_line
from asyncstate.model.dag import Dag
from asyncstate.model.plan import ContingentEdge, Node, NodeKind, Plan
from asyncstate.model.requisite import Requisite, RequisiteKind

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
