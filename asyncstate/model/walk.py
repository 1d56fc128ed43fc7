"""Walks of a plan: the direct predecessors and successors of a node, through nodes that only join others.

A node that waits for a SET, a STAGE or a GROUP waits for the states before it. A GROUP takes time, but has no row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate.model.dag import FOOTPRINT, GROUP
from asyncstate.model.plan import NodeKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from asyncstate.model.plan import ContingentEdge, Plan

    Step = Callable[[int], Iterable[int]]
    Test = Callable[[int], bool]

JOINTS = frozenset({NodeKind.SET, NodeKind.STAGE, NodeKind.GROUP})
STATES = frozenset({NodeKind.CHUNK, NodeKind.CHECK, NodeKind.REMOTE})


class Reason(NamedTuple):
    """The reason why one node waits for another: the sources of edges, and the resources that both touch.

    The wait ends early if all states of ``unless`` succeed.
    """

    sources: tuple[str, ...]
    resources: tuple[str, ...] = ()
    unless: tuple[int, ...] = ()


def edges_through(nodes: Iterable[int], step: Step, joins: Test = lambda _: True) -> Iterator[tuple[int, int]]:
    """Yield each edge from ``nodes`` and from the joints that they lead to; by default, every node is a joint.

    ``step`` returns the neighbours of a node. Each joint is passed once, so the cost is linear in the edges visited.
    """
    stack = list(nodes)
    passed = set(stack)
    while stack:
        at = stack.pop()
        for other in step(at):
            yield at, other
            if other not in passed and joins(other):
                passed.add(other)
                stack.append(other)


def edges_beyond(nodes: Iterable[int], step: Step, joins: Test) -> Iterator[tuple[int, int]]:
    """Yield each edge to a node that does not join, from ``nodes`` and from the joints that they lead to."""
    return (edge for edge in edges_through(nodes, step, joins) if not joins(edge[1]))


def ends(nodes: Sequence[int], step: Step, joins: Test) -> dict[int, None]:
    """Return the ``nodes`` that do not join, and the nodes beyond the others."""
    found = dict.fromkeys(node for node in nodes if not joins(node))
    return found | dict.fromkeys(end for _, end in edges_beyond(filter(joins, nodes), step, joins))


def stands_for(plan: Plan, nodes: Iterable[int]) -> Iterator[int]:
    """Yield the chunks, checks and remote states that a requisite or a footprint on ``nodes`` means.

    Only a SET passes on its name to its members. A STAGE or a GROUP orders states that no requisite names, and that
    need not touch the same resource; so does aggregation, which lets a SET wait for the last member of a GROUP.
    """

    def named(node: int) -> Iterator[int]:
        return (each for each in plan.dag.predecessors(node) if not is_grouped(plan, each, node))

    found = ends([*nodes], named, lambda node: plan.nodes[node].kind is NodeKind.SET)
    return (node for node in found if plan.nodes[node].kind in STATES)


def is_grouped(plan: Plan, before: int, after: int) -> bool:
    """Whether a SET waits for a state that is not its member, but in the GROUP of a member."""
    return plan.nodes[after].kind is NodeKind.SET and plan.dag.sources(before, after) == (GROUP,)


class Walk:
    """Finds the states that nodes of a plan directly wait for, and those that wait for them, with the reasons.

    ``through`` are the kinds of joints to look through. The reason for a wait is the edge at the later state;
    but a footprint of a GROUP is no reason for what stands before the GROUP, so the reason there is the GROUP. It is,
    too, where a SET waits for a member of a GROUP that is not its own. ``contingent`` are more edges, such as the
    plan's.
    """

    def __init__(
        self, plan: Plan, through: Collection[NodeKind] = JOINTS, contingent: Iterable[ContingentEdge] = ()
    ) -> None:
        self._plan, self._nodes, self._dag, self._through = plan, plan.nodes, plan.dag, through
        self._contingent: dict[tuple[int, int], Reason] = {}
        self._more: dict[int, list[int]] = {}
        """Neighbours by contingent edges: successors under the number of a node, predecessors under the inverse."""
        for edge in contingent:
            _add(self._contingent, (edge.before, edge.after), Reason((FOOTPRINT,), edge.resources, (edge.proof,)))
            self._more.setdefault(edge.before, []).append(edge.after)
            self._more.setdefault(~edge.after, []).append(edge.before)

    def before(self, *nodes: int) -> dict[int, Reason]:
        """Return the states that ``nodes`` wait for, in numeric order, without ``nodes``."""
        found: dict[int, Reason] = {}
        starts: dict[Reason, list[int]] = {}
        for node in nodes:
            for other in self._before(node):
                starts.setdefault(self._reason(other, node), []).append(other)
        for reason, others in starts.items():
            joins = self._is_set if reason.sources == (FOOTPRINT,) else self._joins
            near = ends(others, self._named_before, joins)
            for end in near:
                _add(found, end, reason)
            for end in ends([*filter(self._joins, near)], self._before, self._joins):
                _add(found, end, _of_group(reason))
            for end in ends([*self._grouped_before(filter(joins, others), joins)], self._before, self._joins):
                _add(found, end, _GROUPED)
        return self._states(found, nodes)

    def after(self, *nodes: int) -> dict[int, Reason]:
        """Return the states that wait for ``nodes``, in numeric order, without ``nodes``."""
        found: dict[int, Reason] = {}
        for at, end in edges_beyond(nodes, self._named_after, self._is_set):
            _add(found, end, self._reason(at, end))
        for at, end in edges_beyond([*filter(self._joins, found)], self._after, self._joins):
            _add(found, end, _of_group(self._reason(at, end)))
        grouped = [each for node in nodes for each in self._after(node) if is_grouped(self._plan, node, each)]
        for _, end in edges_beyond(grouped, self._after, self._joins):
            _add(found, end, _GROUPED)
        return self._states(found, nodes)

    def _before(self, node: int) -> Iterable[int]:
        return (*self._dag.predecessors(node), *self._more.get(~node, ()))

    def _after(self, node: int) -> Iterable[int]:
        return (*self._dag.successors(node), *self._more.get(node, ()))

    def _named_before(self, node: int) -> Iterator[int]:
        return (each for each in self._before(node) if not is_grouped(self._plan, each, node))

    def _named_after(self, node: int) -> Iterator[int]:
        return (each for each in self._after(node) if not is_grouped(self._plan, node, each))

    def _grouped_before(self, joints: Iterable[int], joins: Test) -> Iterator[int]:
        """Yield the predecessors of joints, and of those before them, that are not their members."""
        first = [*joints]
        passed = {*first, *(each for _, each in edges_through(first, self._named_before, joins) if joins(each))}
        return (each for joint in passed for each in self._before(joint) if is_grouped(self._plan, each, joint))

    def _reason(self, before: int, after: int) -> Reason:
        sources = self._dag.sources(before, after)
        return Reason(sources, self._dag.resources(before, after)) if sources else self._contingent[before, after]

    def _joins(self, node: int) -> bool:
        return self._nodes[node].kind in self._through

    def _is_set(self, node: int) -> bool:
        return self._nodes[node].kind is NodeKind.SET and self._joins(node)

    def _states(self, found: dict[int, Reason], without: Collection[int]) -> dict[int, Reason]:
        left = (node for node in found if self._nodes[node].kind in STATES and node not in without)
        return {node: found[node] for node in sorted(left)}


_GROUPED = Reason((GROUP,))


def _of_group(reason: Reason) -> Reason:
    return reason if reason.sources != (FOOTPRINT,) else Reason((GROUP,), (), reason.unless)


def _add(found: dict[Any, Reason], key: Any, more: Reason) -> None:
    """Add a reason to the known ones. If one holds in any case, another with ``unless`` adds nothing to the order."""
    known = found.get(key, more)
    if known is more or (known.unless and not more.unless):
        found[key] = more
    elif more != known and bool(known.unless) == bool(more.unless):
        found[key] = Reason._make(tuple(dict.fromkeys(one + two)) for one, two in zip(known, more, strict=True))
