"""Pool: shares equal parts of plans, so that the plans of many hosts with one tree take little more memory than one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from asyncstate.extras.fleet.protocol import HostPlan, State


class Pool:
    """The equal parts of the plans of a run. It keeps all values that it has seen."""

    def __init__(self) -> None:
        self._states: dict[State, State] = {}
        self._edges: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._sources: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._texts: dict[str, str] = {}

    def plan(self, plan: HostPlan) -> HostPlan:
        """Return an equal plan that shares its parts with other plans."""
        sources = tuple(self._texts.setdefault(each, each) for each in plan.sources)
        return msgspec.structs.replace(
            plan,
            states=tuple(self._states.setdefault(each, each) for each in plan.states),
            edges=self._edges.setdefault(plan.edges, plan.edges),
            sources=self._sources.setdefault(sources, sources),
        )
