"""Outcomes of nodes, and their consequences for the chunks that require them.

The machine reports each end; `verdict` decides about a chunk, `failed` names the failures behind it, `exclude` tells
before its turn whether a chunk cannot run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind
from asyncstate.run.gate import FAILED, Verdict, target_marks, verdict

if TYPE_CHECKING:
    from asyncstate.model.plan import Plan
    from asyncstate.model.requisite import Requisite
    from asyncstate.model.result import Outcome

_CHECK = NodeKind.CHECK
_MET = Verdict.MET
_PLAIN = frozenset({RequisiteKind.REQUIRE, RequisiteKind.WATCH})
"""Requisites that fail with the first of their targets."""
DECIDING: frozenset[RequisiteKind] = frozenset({RequisiteKind.ONCHANGES, RequisiteKind.ONFAIL, RequisiteKind.PREREQ})
"""Requisites that keep a chunk from running although nothing has failed."""


class Outcomes:
    """The outcomes of one run so far, by node. ``check_of`` has the prereq check of each chunk that has one."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._ended: list[Outcome | None] = [None] * len(plan.nodes)
        self._set_marks: dict[tuple[int, RequisiteKind], int] = {}
        self.check_of: dict[int, int] = {
            node.chunk: number for number, node in enumerate(plan.nodes) if node.kind is _CHECK
        }

    def of(self, node: int) -> Outcome | None:
        """Return the outcome of a node; None before its end."""
        return self._ended[node]

    def put(self, node: int, outcome: Outcome) -> None:
        """Store the outcome of a node."""
        self._ended[node] = outcome

    def told(self, node: int) -> Outcome | None:
        """Return a node's outcome for another host, marked if its check did not foresee a failure; None before."""
        outcome, what = self._ended[node], self._plan.nodes[node]
        if outcome is None or outcome.result is not False or what.kind is not NodeKind.CHUNK:
            return outcome
        checked = self._ended[self.check_of.get(what.chunk, node)]
        if checked is None or checked.result is False:
            return outcome
        return msgspec.structs.replace(outcome, unforeseen=True)

    def exclude(self, chunk: int) -> bool:
        """Whether outcomes so far keep a chunk from running; False while that is open."""
        requisites = self._plan.requisites[chunk]
        if any(each.kind in _PLAIN and self._marks(each.node, each.kind.family) & FAILED for each in requisites):
            return True
        for counted in (requisites, [each for each in requisites if each.kind.family in DECIDING]):
            if counted and all(self._ended[each.node] is not None for each in counted):
                return not verdict(counted, self._marks).runs
        return False

    def verdict(self, chunk: int, *, check: int | None = None) -> Verdict:
        """Return the verdict of a chunk, or of its ``check``, after the end of all that it waits for."""
        requisites = self._requisites(chunk, check)
        return verdict(requisites, self._marks) if requisites else _MET

    def failed(self, chunk: int, *, check: int | None) -> set[int]:
        """Return the nodes of the targets of all requisites of a chunk that ended with result False.

        If a target has a prereq check, the result of the check counts, as in Salt: a failure that the check did not
        foresee is not named.
        """
        failed = set()
        for requisite in self._requisites(chunk, check):
            for node in self._plan.nodes[requisite.node].members or (requisite.node,):
                other = self._plan.nodes[node].chunk
                outcome = self._ended[self.check_of.get(other, node)] or self._ended[node]
                if outcome is not None and outcome.result is False and not outcome.unforeseen:
                    failed.add(node)
        return failed

    def _requisites(self, chunk: int, check: int | None) -> tuple[Requisite, ...]:
        requisites = self._plan.requisites[chunk]
        if check is None:
            return requisites
        return tuple(requisite for requisite in requisites if self._counts_for_check(requisite, check))

    def _counts_for_check(self, requisite: Requisite, check: int) -> bool:
        """Whether a requisite of a chunk also counts for its check: a ``prereq`` only if the check waits for it."""
        if requisite.kind is RequisiteKind.PREREQ:
            return RequisiteKind.PREREQ in self._plan.dag.sources(requisite.node, check)
        return requisite.kind is not RequisiteKind.PREREQUIRED

    def _marks(self, node: int, family: RequisiteKind) -> int:
        outcome = self._ended[node]
        members = self._plan.nodes[node].members
        if not members:
            return target_marks(family, outcome) if outcome is not None else 0
        key = (node, family)
        marks = self._set_marks.get(key)
        if marks is None:
            marks = 0
            for member in members:
                marks |= self._marks(member, family)
            if outcome is not None:
                self._set_marks[key] = marks
        return marks
