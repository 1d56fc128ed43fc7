"""Transactions: states that one call of a package manager may do, though each keeps its place and its row.

A state joins an earlier one if everything it waits for, but for members of the transaction, stands before that first
one in the serial order. So the work of all can be done in the place of the first, and no edge points backwards. What
two members alone touch, the package database, does not separate them: the module does the work of all in one call.

                                                         ┌─▶ second member
    what any member waits for ──▶ GROUP ──▶ first member ┼─▶ third member
                                                         └─▶ …
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from asyncstate.compile.graph.aggregate import why_alone
from asyncstate.errors import meant_for_program
from asyncstate.model.chunk import MOD_TRANSACTION
from asyncstate.model.dag import FOOTPRINT, GROUP
from asyncstate.model.encode import plain
from asyncstate.model.plan import TIMELESS, Node, NodeKind
from asyncstate.model.requisite import CONDITIONS_BEFORE
from asyncstate.model.walk import edges_beyond

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from asyncstate.compile.findings import Findings
    from asyncstate.compile.graph.assemble import PlanBuilder
    from asyncstate.model.chunk import LowChunk

_CHECK = NodeKind.CHECK
_GROUP = NodeKind.GROUP
MAX_MEMBERS = 100
"""The size of the largest transaction. Each member gets a list of all later ones."""

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

_SHARED = ((), (FOOTPRINT,))
"""The sources of an edge that does not keep two members apart: none yet, or the resources that both touch."""

_Members = dict[int, None]
"""The chunks of a transaction in serial order."""


class Transactions:
    """Forms the transactions of a plan, while the chunks are visited in serial order.

    ``refused`` says of a chunk why it is in no transaction, or why it begins one and does not join the one before.
    ``refuses(chunk, first)`` returns what `MOD_TRANSACTION` of its module says, None if the module has none or if
    states of it say what to aggregate.
    ``off`` is why there are no transactions at all, "" if there may be some.
    """

    def __init__(self, builder: PlanBuilder, refuses: Callable[[LowChunk, bool], str | None], off: str) -> None:
        self.refused: dict[int, str] = {}
        self._builder = builder
        self._refuses = refuses
        self._off = off
        self._earlier = _Earlier(builder)
        self._open: dict[str, _Members] = {}
        self._groups: list[_Members] = []
        self._checked = {node.chunk for node in builder.nodes if node.kind is _CHECK}

    def of(self, number: int) -> Callable[[Iterable[int]], _Members] | None:
        """Visit a chunk. If a transaction may take it in, return what decides so, given what the chunk waits for.

        That returns the earlier members, which share its work; none if it stays out.
        """
        chunk = self._builder.chunks[number]
        if chunk.args.get("failhard"):
            self._open.clear()
        alone = self._refuses(chunk, True)
        if alone is None:
            return None
        alone = self._off or _why_alone(chunk.args, checked=number in self._checked) or alone
        if alone:
            self.refused[number] = alone
            return None
        members = self._open.get(chunk.state)
        why = "" if members is None else _why_not_with(members, chunk) or self._refuses(chunk, False) or ""
        if members is None or why:
            self._begin(chunk, why)
            return None
        return partial(self._join, chunk, members)

    def refuse_all(self) -> None:
        """Say of each chunk why it is in no transaction, if there are none at all."""
        for chunk in self._builder.chunks:
            self.of(chunk.index)

    def add_groups(self) -> None:
        """Add a GROUP node for each transaction, when all chunks have been visited."""
        for members in self._groups:
            first = next(iter(members))
            if len(members) > 1:
                _add_group(self._builder, self._earlier, members)
            else:
                self.refused.setdefault(first, f"no later {self._builder.chunks[first].state} state can join it")

    def _begin(self, chunk: LowChunk, why: str) -> None:
        """Open a transaction with a chunk, which cannot join the one before it."""
        if why:
            self.refused[chunk.index] = why
        self._open[chunk.state] = {chunk.index: None}
        self._groups.append(self._open[chunk.state])

    def _join(self, chunk: LowChunk, members: _Members, waits: Iterable[int]) -> _Members:
        between = self._earlier.hindrance(chunk.index, members, waits)
        if between is not None:
            places = self._earlier.place(between), self._earlier.place(next(iter(members)))
            self._begin(chunk, f"it waits for {places[0]}, which does not come before {places[1]}")
            return {}
        earlier = dict(members)
        members[chunk.index] = None
        return earlier


def call_hook(func: Callable[..., Any], chunk: LowChunk, findings: Findings, *, first: bool) -> str:
    """Return the answer of `MOD_TRANSACTION` for a chunk. An exception becomes a warning, and the chunk stays alone."""
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
    findings.warn_at("W208", said, chunk.file, chunk.line)
    return said


def _why_alone(args: dict[str, Any], *, checked: bool) -> str:
    if args.get("aggregate") is False:
        return "its own 'aggregate' says no"
    for keyword in _OWN_CALL:
        if args.get(keyword):
            return f"it has {keyword}, which is for a call of its own"
    if why := why_alone(args):
        return why
    return "a prereq names it, so that it is tested before it runs" if checked else ""


def _why_not_with(members: _Members, chunk: LowChunk) -> str:
    for condition in CONDITIONS_BEFORE:
        if condition in chunk.args:
            return f"its {condition} is evaluated in its own place"
    return f"the transaction before it is full ({MAX_MEMBERS} states)" if len(members) >= MAX_MEMBERS else ""


class _Earlier:
    """The nodes before a node. Sets and stages take no time: the nodes before them count in their place."""

    def __init__(self, builder: PlanBuilder) -> None:
        self._builder = builder
        self._latest: dict[int, int] = {}

    def place(self, node: int) -> str:
        """Return file, line or name of the chunk of a node."""
        what = self._builder.nodes[node]
        return self._builder.chunks[what.chunk if what.chunk >= 0 else what.members[0]].place

    def hindrance(self, node: int, members: _Members, waits: Iterable[int]) -> int | None:
        """Return a node that ``node`` waits for and that does not stand before the first member; None if none does.

        ``waits`` are the nodes that it waits for because both touch the same resources.
        """
        first = self._builder.rank[next(iter(members))]
        for before in self.of(node, members, waits):
            if not self._takes_no_time(before) and self._builder.rank[before] >= first:
                return before
        return None

    def of(self, node: int, members: _Members, waits: Iterable[int] = ()) -> Iterator[int]:
        """Return what a member waits for, but not what it waits for only because both touch the same resources.

        A set or stage is returned if all that it waits for stands before the first member, else what it waits for.
        """
        dag, first = self._builder.dag, self._builder.rank[next(iter(members))]

        def apart(current: int) -> Iterator[int]:
            for before in chain(dag.predecessors(current), waits if current == node else ()):
                if before not in members or dag.sources(before, current) not in _SHARED:
                    yield before

        beyond = edges_beyond([node], apart, lambda each: self._takes_no_time(each) and self._rank(each) >= first)
        return (before for _, before in beyond)

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
            latest[current] = max(ranks)
        return latest[node]


def _add_group(builder: PlanBuilder, earlier: _Earlier, members: _Members) -> None:
    """Add the GROUP node in the place of the first member, with edges from all that its members wait for.

    The first member does the work of all, so the others wait for it.
    """
    first, *others = members
    before = dict.fromkeys(node for member in members for node in earlier.of(member, members))
    label = f"{builder.chunks[first].state} x {len(members)} in one transaction"
    group = builder.add_node(Node(_GROUP, -1, tuple(members), label, transaction=True), builder.rank[first])
    for each in before:
        builder.dag.add(each, group, GROUP)
    builder.dag.add(group, first, GROUP)
    for member in others:
        builder.dag.add(first, member, GROUP)
