"""Failed requisites that hold states back, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.model.chunk import parse_tag
from asyncstate.model.dag import GROUP
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind
from asyncstate.model.result import was_held_back
from asyncstate.model.walk import ends
from asyncstate.report.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row, RunReport

_PREREQ_OF = "is a prereq of"
"""A state and its prereq are often held back together; then the prereq explains neither."""
_WORDS: dict[str, str] = {
    RequisiteKind.REQUIRE: "requires",
    RequisiteKind.REQUIRE_ANY: "requires",
    RequisiteKind.WATCH: "watches",
    RequisiteKind.WATCH_ANY: "watches",
    RequisiteKind.PREREQ: "has the prereq",
    RequisiteKind.PREREQUIRED: _PREREQ_OF,
}
"""The wording of requisites that a failed state does not meet, by the source of their edges."""


PlacedState = tuple[str, str]
"""A state: its host, "" for the host of the report, and its tag."""


def held_back(report: RunReport, plan: Plan | None) -> dict[str, str]:
    """Return the reason for each held-back state, by tag: ``requires pkg: nginx, which failed``.

    A reason that is not in the plan, such as a failure on another host, is left out: the comment of the row has it.
    """
    if plan is None or not any(map(was_held_back, report.rows.values())):
        return {}
    return Needs.of(plan).all_unmet({"": report.rows})


class Needs:
    """The states that each state of a host requires, according to its plan.

    ``states`` has the state of each node, None for a node that joins others. ``edges`` are (node before, node after,
    sources).
    """

    def __init__(self, states: Sequence[PlacedState | None], edges: Iterable[tuple[int, int, Iterable[str]]]) -> None:
        self._states = states
        self._members: dict[int, list[int]] = {}
        self._needed: dict[str, list[tuple[str, int]]] = {}
        for before, after, sources in edges:
            state = states[after]
            if state is None and tuple(sources) == (GROUP,):  # an edge of order only: not a member
                continue
            if state is None:
                self._members.setdefault(after, []).append(before)
            elif words := [_WORDS[source] for source in sources if source in _WORDS]:
                self._needed.setdefault(state[1], []).extend((word, before) for word in words)

    @classmethod
    def of(cls, plan: Plan) -> Needs:
        """Return the needs of the states in a plan of this machine."""
        named = {NodeKind.CHUNK, NodeKind.CHECK}
        states = [("", plan.chunks[node.chunk].tag) if node.kind in named else None for node in plan.nodes]
        return cls(states, ((before, after, sources) for before, after, sources, _ in plan.dag.joined()))

    def all_unmet(self, rows: Mapping[str, Mapping[str, Row]]) -> dict[str, str]:
        """Return `unmet` of each held-back state of this host, by tag, without those that the plan does not tell."""
        return {tag: words for tag in rows[""] if (words := self.unmet(tag, rows))}

    def unmet(self, tag: str, rows: Mapping[str, Mapping[str, Row]]) -> str:
        """Return the failure that held a state back, as text; "" if none did, or the plan does not tell.

        ``rows`` are by host, this one under "", and tag; only the rows of failed states are needed.
        """
        own = rows[""].get(tag)
        if own is None or not was_held_back(own):
            return ""
        targets = ((word, state) for word, node in self._needed.get(tag, ()) for state in self._behind(node))
        found = ((word, state, rows.get(state[0], {}).get(state[1])) for word, state in targets)
        failed = {state: (word, was_held_back(row)) for word, state, row in found if row and row["result"] is False}
        to_blame = {state: (word, held) for state, (word, held) in failed.items() if not held or word != _PREREQ_OF}
        return _words(to_blame or failed) if failed else ""

    def _behind(self, node: int) -> Iterator[PlacedState]:
        """Yield the states that a node joins, or its own."""
        for end in ends([node], lambda joint: self._members.get(joint, ()), lambda each: self._states[each] is None):
            if (state := self._states[end]) is not None:
                yield state


def _words(failed: Mapping[PlacedState, tuple[str, bool]]) -> str:
    """Name one of the failed states, preferably one that was not itself held back, and count the others."""
    state, (word, held) = next(((each, of) for each, of in failed.items() if not of[1]), next(iter(failed.items())))
    host, tag = state
    where = f" on {one_line(host)}" if host else ""
    more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    return f"{word} {_reference(tag)}{where}, which {'was held back' if held else 'failed'}{more}"


def _reference(tag: str) -> str:
    """Return a state as requisites refer to it: module and ID."""
    try:
        parts = parse_tag(tag)
    except ValueError:  # a plugin may return a row under any key
        return one_line(tag)
    return f"{parts.state}: {one_line(parts.id)}"
