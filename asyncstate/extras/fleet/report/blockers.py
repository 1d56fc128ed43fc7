"""Explanations of held-back states: the failed requisite, also on a state of another host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.report.blockers import Needs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.extras.fleet.protocol import Go, HostPlan
    from asyncstate.model.result import Row


def held_back_on_host(
    host: str, rows: Mapping[str, Mapping[str, Row]], plan: HostPlan | None, go: Go | None = None
) -> dict[str, str]:
    """Return by tag the reasons for held-back states of a host: ``requires cmd: migrate on db1, which failed``.

    ``rows`` are the rows of all hosts, ``go`` names the states of other hosts that this one waits for.
    """
    own = rows.get(host, {})
    if plan is None or all(row["result"] is not False for row in own.values()):
        return {}
    return needs_of(plan, go).all_unmet({**rows, "": own})


def needs_of(plan: HostPlan, go: Go | None = None) -> Needs:
    """Return the needs of each state of a host; ``go`` names the states of other hosts that it waits for."""
    states: list[tuple[str, str] | None] = [("", each.tag) for each in plan.states]
    states += [None] * (plan.nodes - len(states))
    for chunk, node in plan.checks:
        states[node] = states[chunk]
    edges = list(plan.each_edge())
    if go is not None and go.digest == plan.digest:  # else the host has sent another plan since
        first = len(states)
        states += [None if each.end else (each.host, each.state.tag) for each in go.remote]
        edges += [(first + place, wait.chunk, [wait.kind]) for wait in go.waits for place in wait.remote]
    return Needs(states, edges)
