"""``prereq``: the target gets a second node, run in test mode before the state that asks, and the target after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.compile.graph.wiring import PREREQ, PREREQUIRED
from asyncstate.model.plan import NodeKind

if TYPE_CHECKING:
    from asyncstate.compile.graph.wiring import Wiring


def add_prereq(wiring: Wiring, asking: int, target: int) -> None:
    """Wire one ``prereq``: target's CHECK, then the state that asks, then the target itself.

    In a chain the check of a middle state waits for the check it asks for only if the outer state is declared first, as
    in Salt: a check that is there already is told of it, one that is made later takes over everything but a ``prereq``.
    """
    check = wiring.check_of.get(target)
    if check is None:
        check = _add_check(wiring, asking, target)
    if not wiring.require(asking, check, PREREQ):
        return
    wiring.edge(check, asking, PREREQ)
    wiring.edge(asking, target, PREREQUIRED)
    wiring.require(target, asking, PREREQUIRED)
    own_check = wiring.check_of.get(asking)
    if own_check is not None:
        wiring.edge(check, own_check, PREREQ)


def _add_check(wiring: Wiring, asking: int, target: int) -> int:
    """Add the CHECK node of a target; it waits for whatever the target was found to wait for so far."""
    check = wiring.node(NodeKind.CHECK, target)
    wiring.check_of[target] = check
    wiring.created_by[check] = asking
    for kind, node in wiring.requisites_of(target):
        if kind not in (PREREQ, PREREQUIRED):
            wiring.edge(node, check, kind)
    return check
