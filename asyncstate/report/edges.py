"""The edges of a plan, and the kind of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from asyncstate.model.plan import Plan

REQUISITES = frozenset(kind.value for kind in RequisiteKind)
"""The reasons for an edge that are requisites."""
_ORDERS = ("stage", "file", "footprint", "group", "set")
_LISTEN = (RequisiteKind.LISTEN.value,)


def plan_edges(plan: Plan) -> Iterator[tuple[int, int, tuple[str, ...], tuple[str, ...]]]:
    """Yield every edge once, with all its sources and resources; also those of listeners to their targets."""
    yield from plan.dag.joined()
    for number, node in enumerate(plan.nodes):
        if node.kind is NodeKind.LISTENER:
            yield from ((target, number, _LISTEN, ()) for target in node.members)


def family_of(sources: Sequence[str]) -> str:
    """Return the source that counts: listen, requisite, stage, file, footprint, group, or set (all of)."""
    if set(sources) == {"listen"}:
        return "listen"
    if any(source in REQUISITES for source in sources):
        return "requisite"
    return next((source for source in sources if source in _ORDERS), "set")
