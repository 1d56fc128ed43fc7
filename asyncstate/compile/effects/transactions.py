"""Transactions: states that one call of a package manager may do, though each keeps its place and its row.

A state joins an earlier one if everything it waits for, but for members of the transaction, stands before that first
one in the serial order. So the work of all can be done in the place of the first, and no edge points backwards. What
two members alone touch, the package database, does not separate them: the module does the work of all in one call.

    what any member waits for ──▶ GROUP ──▶ first member ──▶ …   the other members, each in its own place
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.compile.effects.aggregate import ALONE
from asyncstate.compile.graph.assemble import GROUP, TIMELESS
from asyncstate.errors import meant_for_program
from asyncstate.model.dag import FOOTPRINT
from asyncstate.model.encode import plain
from asyncstate.model.hooks import MOD_TRANSACTION
from asyncstate.model.plan import Node, NodeKind
from asyncstate.model.requisite import CONDITIONS_BEFORE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from asyncstate.compile.findings import Findings
    from asyncstate.compile.graph.assemble import PlanBuilder
    from asyncstate.model.chunk import LowChunk

MAX_MEMBERS = 100
"""The size of the largest transaction. Each member is told of all later ones."""

_OWN_CALL = (
    "retry",
    "check_cmd",
    "prereq",
    "failhard",
    "parallel",
    "exclusive",
    "footprint",
    "lane",
    "umask",
)
"""Keywords with which a state runs as if it were alone."""


def add_transactions(
    builder: PlanBuilder, refuses: Callable[[LowChunk, bool], str | None], off: str = ""
) -> dict[int, str]:
    """Add a GROUP node for each transaction; return why other chunks are in none.

    ``refuses(chunk, first)`` returns what `MOD_TRANSACTION` of its module says, None if the module has none.
    ``off`` is why there are no transactions at all, "" if there may be some.
    """
    refused: dict[int, str] = {}
    open_groups: dict[str, list[int]] = {}
    groups: list[list[int]] = []
    earlier = _Earlier(builder)
    checked = {node.chunk for node in builder.nodes if node.kind is NodeKind.CHECK}
    taken = {member for node in builder.nodes if node.kind is NodeKind.GROUP for member in node.members}
    for chunk in builder.chunks:
        if chunk.args.get("failhard"):
            open_groups.clear()
        number = chunk.index
        alone = refuses(chunk, True)
        if alone is None or number in taken:
            continue
        members = open_groups.get(chunk.state)
        alone = off or _why_alone(chunk.args, checked=number in checked) or alone
        if alone:
            refused[number] = alone
            continue
        if members is not None:
            why = _why_not_with(earlier, members, chunk) or refuses(chunk, False)
            if not why:
                members.append(number)
                continue
            refused[number] = why
        open_groups[chunk.state] = [number]
        groups.append(open_groups[chunk.state])
    for members in groups:
        if len(members) > 1:
            _add_group(builder, earlier, members)
            refused.pop(members[0], None)
        else:
            refused.setdefault(members[0], f"no later {builder.chunks[members[0]].state} state can join it")
    return refused


def call_hook(func: Callable[..., Any], chunk: LowChunk, findings: Findings, *, first: bool) -> str:
    """Return what `MOD_TRANSACTION` says of a chunk; what it raises is a warning, and the chunk stays alone."""
    try:
        said = func(chunk.as_low(), first)
        if isinstance(said, str):
            return said
        wrong = f"it returned {type(said).__name__}, not text"
    except BaseException as error:
        if meant_for_program(error):
            raise
        wrong = str(plain(error)) or type(error).__name__
    said = f"{MOD_TRANSACTION} of {chunk.function} failed: {wrong}"
    findings.warn_at(said, chunk.file, chunk.line)
    return said


def _why_alone(args: dict[str, Any], *, checked: bool) -> str:
    if args.get("aggregate") is False:
        return "its own 'aggregate' says no"
    for keyword in _OWN_CALL:
        if args.get(keyword):
            return f"it has {keyword}, which is for a call of its own"
    for keyword, why in ALONE.items():
        if args.get(keyword):
            return why
    return "a prereq names it, so that it is tested before it runs" if checked else ""


def _why_not_with(earlier: _Earlier, members: list[int], chunk: LowChunk) -> str:
    condition = next((keyword for keyword in CONDITIONS_BEFORE if keyword in chunk.args), "")
    if condition:
        return f"its {condition} is evaluated in its own place"
    if len(members) >= MAX_MEMBERS:
        return f"the transaction before it is full ({MAX_MEMBERS} states)"
    between = earlier.hindrance(chunk.index, members)
    if between is None:
        return ""
    places = earlier.place(between), earlier.place(members[0])
    return f"it waits for {places[0]}, which does not come before {places[1]}"


class _Earlier:
    """What stands before a node. Sets and stages take no time: what they wait for counts in their place."""

    def __init__(self, builder: PlanBuilder) -> None:
        self._builder = builder
        self._latest: dict[int, int] = {}

    def place(self, node: int) -> str:
        """Return file, line or name of the chunk of a node."""
        what = self._builder.nodes[node]
        return self._builder.chunks[what.chunk if what.chunk >= 0 else what.members[0]].place

    def hindrance(self, node: int, members: list[int]) -> int | None:
        """Return a node that ``node`` waits for and that does not stand before the first member; None if none does."""
        rank = self._builder.rank
        for before in self.of(node, members):
            if not self._takes_no_time(before) and rank[before] >= rank[members[0]]:
                return before
        return None

    def of(self, node: int, members: list[int]) -> Iterator[int]:
        """Yield what a member waits for, but not what it waits for only because both touch the same resources.

        A set or stage is yielded if all that it waits for stands before the first member, else what it waits for.
        """
        dag, first, inside = self._builder.dag, self._builder.rank[members[0]], frozenset(members)
        stack, seen = [node], {node}
        while stack:
            current = stack.pop()
            for before in dag.predecessors(current):
                if before in seen or (before in inside and dag.sources(before, current) == (FOOTPRINT,)):
                    continue
                seen.add(before)
                if self._takes_no_time(before) and self._rank(before) >= first:
                    stack.append(before)
                else:
                    yield before

    def _takes_no_time(self, node: int) -> bool:
        return self._builder.nodes[node].kind in TIMELESS

    def _rank(self, node: int) -> int:
        """Return the rank of the last node that a set or stage waits for."""
        dag, latest = self._builder.dag, self._latest
        stack = [node]
        while stack:
            current = stack[-1]
            inner = [each for each in dag.predecessors(current) if self._takes_no_time(each) and each not in latest]
            if inner:
                stack.extend(inner)
                continue
            stack.pop()
            ranks = (
                latest[each] if self._takes_no_time(each) else self._builder.rank[each]
                for each in dag.predecessors(current)
            )
            latest[current] = max(ranks, default=-1)
        return latest[node]


def _add_group(builder: PlanBuilder, earlier: _Earlier, members: list[int]) -> None:
    """Add the GROUP node in the place of the first member, with edges from all that its members wait for."""
    before = dict.fromkeys(node for member in members for node in earlier.of(member, members))
    label = f"{builder.chunks[members[0]].state} x {len(members)} in one transaction"
    node = Node(NodeKind.GROUP, -1, tuple(members), label, transaction=True)
    group = builder.add_node(node, builder.rank[members[0]])
    for each in before:
        builder.dag.add(each, group, GROUP)
    builder.dag.add(group, members[0], GROUP)
