"""The implicit order: edges between states that touch the same resources.

A state waits for earlier states, in serial order, that wrote what it touches, or touched what it writes. Edges go
forward in serial order, so they never form a cycle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.effects.declared import Footprint
from asyncstate.effects.resources import ENTRY, PATH
from asyncstate.model.dag import FOOTPRINT
from asyncstate.model.plan import ContingentEdge, Node, NodeKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from asyncstate.compile.graph.assemble import PlanBuilder
    from asyncstate.compile.graph.transactions import Transactions
    from asyncstate.effects.footprint import Footprints

_NOTHING = Footprint()


def add_footprints(
    builder: PlanBuilder, footprints: Footprints, transactions: Transactions | None = None
) -> list[Footprint]:
    """Add an edge for every two nodes with a conflict, labelled with the resources. Returns what each chunk touches.

    A check, and the conditions of a group, only read. ``transactions`` says which states work together: those do not
    wait for one another, and what comes after them waits for each of them that it has a conflict with.
    """
    dag = builder.dag
    nodes = builder.in_serial_order()
    known = footprints.of_all(builder.chunks, [node for node in nodes if node < len(builder.chunks)])
    if transactions is None and not any(each.reads or each.writes or each.makes for each in known):
        return known
    from asyncstate.effects.apart import Apart  # noqa: PLC0415 - some state touches something
    from asyncstate.effects.footprint import only_entries  # noqa: PLC0415 - as above
    from asyncstate.effects.scoreboard import Scoreboard  # noqa: PLC0415 - as above

    def join(nodes: list[int], resource: str) -> int:
        members = tuple(node for node in nodes if node < len(builder.chunks))
        joined = builder.add_node(Node(NodeKind.SET, members=members, label=FOOTPRINT))
        for node in nodes:
            dag.add(node, joined, FOOTPRINT, (resource,))
        return joined

    board = Scoreboard(join)
    own = known.copy()
    _share_in_groups(builder, known)
    builder.entries = {number: files for number, each in enumerate(known) if (files := only_entries(each))}
    touches = dict(_touches(builder, nodes, known))
    apart = Apart(touches.values())
    for node in nodes:
        is_chunk = builder.nodes[node].kind is NodeKind.CHUNK
        joins = transactions.of(node) if transactions is not None and is_chunk else None
        touched = touches.get(node, _NOTHING)
        if joins is None and (touched is _NOTHING or apart.has(touched)):
            continue
        waiting = board.touch(node, touched.reads, touched.writes, touched.makes, touched.leaves, together=joins)
        for before, resources in waiting.always.items():
            if not dag.sources(before, node):
                dag.add(before, node, FOOTPRINT, resources)
        for (before, proof), resources in waiting.contingent.items():
            if not dag.sources(before, node):
                builder.contingent.append(ContingentEdge(before, node, proof, resources))
    return own


def _touches(builder: PlanBuilder, nodes: Iterable[int], known: Sequence[Footprint]) -> Iterator[tuple[int, Footprint]]:
    """Yield the nodes that touch anything, and their footprints without plain names that no state writes."""
    written = {name.partition(ENTRY)[0] for footprint in known for name in footprint.writes}
    for node in nodes:
        what = builder.nodes[node]
        if what.kind is NodeKind.CHUNK:
            touched = known[node]
        else:
            chunks = [what.chunk] if what.kind is NodeKind.CHECK else what.members
            touched = Footprint(tuple(name for chunk in chunks for name in known[chunk].everything()))
        reads = tuple(each for each in touched.reads if each.startswith(PATH) or each.partition(ENTRY)[0] in written)
        touched = touched if len(reads) == len(touched.reads) else touched.replaced(reads=reads)
        if reads or touched.writes or touched.makes or touched.leaves:
            yield node, touched


def _share_in_groups(builder: PlanBuilder, known: list[Footprint]) -> None:
    """Give each member of an aggregate group the footprints of all: the member that runs does the work of the rest."""
    for node in builder.nodes:
        if node.kind is NodeKind.GROUP:
            shared = Footprint.joined([known[member] for member in node.members])
            for member in node.members:
                known[member] = shared
