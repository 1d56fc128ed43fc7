"""The requisite gate: decides about a chunk by the outcomes of the targets of its requisites.

    outcome of each target ──target_marks──▶ marks ──reduce_marks (per kind)──▶ united marks ──settle──▶ verdict

The first status that fits the united marks is the verdict (Salt 3008's ``_check_requisites``; the compatibility
documentation has the same table). If a watched state changed, the verdict is CHANGE, and `invoke.run_chunk` calls
``mod_watch``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from asyncstate.model.requisite import RequisiteKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from asyncstate.model.requisite import Requisite
    from asyncstate.model.result import Outcome


class Verdict(StrEnum):
    """The decision of a chunk's requisites about it."""

    MET = "met"
    """Run it."""
    CHANGE = "change"
    """Run it, and ``mod_watch`` if that changes nothing."""
    SKIP_WATCH = "skip_watch"
    """Run it, but not ``mod_watch``: a watched state returned ``skip_req``."""
    LISTEN = "listen"
    """Call ``mod_watch``: a state it listens to changed."""
    FAIL = "fail"
    PRE = "pre"
    ONFAIL = "onfail"
    ONCHANGES = "onchanges"
    SKIP_REQ = "skip_req"

    @property
    def runs(self) -> bool:
        """Whether the state function is called."""
        return self in _RUNNING


_RUNNING = frozenset({Verdict.MET, Verdict.CHANGE, Verdict.SKIP_WATCH, Verdict.LISTEN})

NOT_RUN = {
    Verdict.PRE: "No changes detected",
    Verdict.ONFAIL: "State was not run because onfail req did not change",
    Verdict.ONCHANGES: "State was not run because none of the onchanges reqs changed",
    Verdict.SKIP_REQ: "State was not run because requisites were skipped by another state",
}
"""The comment of a row whose state did not run and did not fail."""


FAILED = 1
"""The mark of a target that failed for a requisite. The other meanings of one target follow; marks are united."""
_MET, _CHANGE, _ONCHANGES, _ONCHANGESMET, _ONFAIL, _PRE, _PREMET, _SKIP_REQ = (1 << bit for bit in range(1, 9))

# Read once, as is the kind of a node: see `NodeKind`.
_OF_ONFAIL, _OF_ONCHANGES = RequisiteKind.ONFAIL, RequisiteKind.ONCHANGES
_OF_WATCH, _OF_PREREQ = RequisiteKind.WATCH, RequisiteKind.PREREQ


def target_marks(family: RequisiteKind, outcome: Outcome) -> int:
    """Return the marks that one finished target leaves on a requisite of ``family``."""
    marks = _SKIP_REQ if outcome.skip_req else 0
    if family is _OF_ONFAIL:
        if outcome.result is True:
            return marks | _ONFAIL
    elif family is _OF_ONCHANGES:
        return marks | (_ONCHANGES if outcome.result is False or not outcome.changed else _ONCHANGESMET)
    elif outcome.result is False:
        return marks | FAILED
    if family is _OF_WATCH and outcome.changed:
        return marks | _CHANGE
    if family is _OF_PREREQ:
        return marks | (_PREMET if outcome.result is None else _PRE)
    return marks | (_MET if outcome.ran else 0)


def reduce_marks(kind: RequisiteKind, marks: int) -> int:
    """Apply the rule of one kind, "any" or "all", to the marks of all its targets."""
    if kind.endswith("_any") or kind is _OF_ONFAIL:
        if marks & (_MET | _CHANGE):
            marks &= ~FAILED
        if marks & _MET:
            marks &= ~_ONFAIL
    return marks


def settle(marks: int) -> Verdict:
    """Return the verdict of the united marks of all kinds: the first status that fits."""
    if marks & FAILED:
        return Verdict.FAIL
    if marks & _SKIP_REQ:
        if marks & (_ONCHANGESMET | _PREMET):
            return Verdict.SKIP_REQ
        if marks & _CHANGE:
            return Verdict.SKIP_WATCH
    if marks & _PRE:
        return Verdict.MET if marks & _PREMET else Verdict.PRE
    if marks & _ONFAIL and not marks & _ONCHANGESMET:
        return Verdict.ONFAIL
    if marks & _ONCHANGES and not marks & _ONCHANGESMET:
        return Verdict.ONCHANGES
    if marks & _CHANGE:
        return Verdict.CHANGE
    return Verdict.ONFAIL if marks & _ONFAIL else Verdict.MET


def verdict(requisites: Iterable[Requisite], marks_of: Callable[[int, RequisiteKind], int]) -> Verdict:
    """Decide about one chunk. ``marks_of(node, family)`` gives the marks of a finished node, sets included."""
    by_kind: dict[RequisiteKind, int] = {}
    for requisite in requisites:
        kind = requisite.kind
        by_kind[kind] = by_kind.get(kind, 0) | marks_of(requisite.node, kind.family)
    united = 0
    for kind, marks in by_kind.items():
        united |= reduce_marks(kind, marks)
    return settle(united)
