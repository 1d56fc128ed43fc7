"""Plan: what the compiler hands to the scheduler."""

from __future__ import annotations

import hashlib
from enum import IntEnum
from typing import Any

import msgspec

from asyncstate.errors import Issue
from asyncstate.model.chunk import LowChunk
from asyncstate.model.dag import Dag
from asyncstate.model.encode import plain
from asyncstate.model.requisite import Requisite, RequisiteKind


class NodeKind(IntEnum):
    """What a node of the graph stands for."""

    CHUNK = 0
    """Run a chunk."""
    CHECK = 1
    """Run a chunk in test mode only, for those that have it as ``prereq``; gives no row."""
    SET = 2
    """Done when all its members are: one node for a whole ``sls:`` or glob, so edges stay linear."""
    STAGE = 3
    """A barrier between explicit orders."""
    GROUP = 4
    """Call ``mod_aggregate`` for its members, before the first of them runs."""
    LISTENER = 5
    """When everything else has ended, call ``mod_watch`` of a chunk if one of its members, the targets, changed."""


class Node(msgspec.Struct, frozen=True, gc=False):
    """A node of the graph. ``chunk`` is an index for CHUNK, CHECK and LISTENER, else -1; ``members`` are node numbers.

    A LISTENER's ``label`` is the tag of its row: of several with the same, one is called.
    """

    kind: NodeKind
    chunk: int = -1
    members: tuple[int, ...] = ()
    label: str = ""


class BrokenListener(msgspec.Struct, frozen=True):
    """A ``listen_in`` to a state that does not exist: ``row`` is added under ``tag`` if any of ``targets`` changes."""

    targets: tuple[int, ...]
    tag: str
    row: dict[str, Any]


class Plan(msgspec.Struct, frozen=True):
    """Chunks in serial order and the graph between them. A pure function of its inputs.

    Node numbers: ``nodes[i]`` for ``i < len(chunks)`` is chunk ``i``; checks, sets, stages, groups and listeners
    come behind. ``rank`` gives each node its place in the serial order (sets and stages need none: they take no
    time); listeners stand behind all others, without edges. ``requisites[i]`` are chunk i's resolved requisites; a
    ``prereq`` looks at a CHECK node. ``rows`` holds the rows that are known before anything runs (states disabled
    by a grain, listeners that refer to nothing, "no states"). ``unknown`` are the chunks whose effects nobody
    declared: what orders them is written in the tree, or nothing. ``not_aggregated`` says why a chunk that could
    have been aggregated is in no group. ``digest`` is stable across processes and hash seeds.
    """

    chunks: tuple[LowChunk, ...]
    nodes: tuple[Node, ...]
    requisites: tuple[tuple[Requisite, ...], ...]
    rank: tuple[int, ...]
    dag: Dag
    broken_listeners: tuple[BrokenListener, ...] = ()
    unknown: tuple[int, ...] = ()
    not_aggregated: dict[int, str] = {}
    rows: dict[str, dict[str, Any]] = {}
    warnings: tuple[Issue, ...] = ()
    saltenv: str = "base"
    digest: str = ""

    @property
    def listeners(self) -> tuple[Node, ...]:
        """The LISTENER nodes, in the order they are called in."""
        return tuple(node for node in self.nodes[len(self.chunks) :] if node.kind is NodeKind.LISTENER)

    def chunk_of(self, node: int) -> LowChunk:
        """Return what a CHUNK, CHECK or LISTENER node calls."""
        what = self.nodes[node]
        chunk = self.chunks[what.chunk]
        return chunk.as_listener() if what.kind is NodeKind.LISTENER else chunk

    def lowstate(self) -> list[dict[str, Any]]:
        """Return low data as Salt's ``state.show_lowstate`` does, in serial order.

        The target of a prereq is there twice: where it is checked, and where it runs.
        """
        asking = {
            index
            for index, requisites in enumerate(self.requisites)
            if any(requisite.kind is RequisiteKind.PREREQ for requisite in requisites)
        }
        checked = {node.chunk for node in self.nodes[len(self.chunks) :] if node.kind is NodeKind.CHECK}
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

    def node_of_check(self, chunk: int) -> int | None:
        """Return the CHECK node of a chunk, if some other chunk has it as a prereq."""
        for number in range(len(self.chunks), len(self.nodes)):
            node = self.nodes[number]
            if node.kind is NodeKind.CHECK and node.chunk == chunk:
                return number
        return None


def plan_digest(chunks: tuple[LowChunk, ...], nodes: tuple[Node, ...], dag: Dag) -> str:
    """Return the sha256 of the canonical JSON of everything that decides what a run does.

    The place of a declaration (file, line) is left out: moving a state within its file changes nothing but its order.
    """
    body = [
        [chunk.index, chunk.state, chunk.fun, chunk.id, chunk.name, chunk.sls, chunk.env, chunk.order, chunk.args]
        for chunk in chunks
    ]
    graph = [(node.kind, node.chunk, node.members) for node in nodes[len(chunks) :]]
    try:
        encoded = msgspec.json.encode((body, graph), order="deterministic", enc_hook=repr)
    except BaseException:  # noqa: BLE001 - a renderer in Python may put any object into a tree, and here it is looked at
        encoded = msgspec.json.encode((_plain(body), graph), order="deterministic")
    digest = hashlib.sha256(encoded)
    digest.update(msgspec.json.encode(list(dag.packed())))
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    """Give JSON what it has no word for: keys that are no strings, characters that are no text, objects."""
    if isinstance(value, dict):
        pairs = ([_key(key), _plain(item)] for key, item in value.items())
        return sorted(pairs, key=lambda pair: str(pair[0]))
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return plain(value)


def _key(key: Any) -> str:
    return repr(key) if type(key) in (str, int, float, bool, bytes, type(None)) else str(plain(key))
