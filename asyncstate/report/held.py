"""Which failed requisite holds a state back, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.model.dag import GROUP
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind
from asyncstate.model.result import was_held_back
from asyncstate.model.tag import parse_tag
from asyncstate.model.walk import ends
from asyncstate.report.terminal import one_line
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row, RunReport

_PREREQ_OF = "is a prereq of"
"""Two states of which one is a prereq of the other are often held back together; then that explains neither."""
_WORDS: dict[str, str] = {
    RequisiteKind.REQUIRE: "requires",
    RequisiteKind.REQUIRE_ANY: "requires",
    RequisiteKind.WATCH: "watches",
    RequisiteKind.WATCH_ANY: "watches",
    RequisiteKind.PREREQ: "has the prereq",
    RequisiteKind.PREREQUIRED: _PREREQ_OF,
}
"""What is said of the requisites that a failure does not meet, by the source of their edges."""


class PlacedState(Value):
    """A state by its host, "" for that of the report, and its tag."""

    host: str
    tag: str


def held_back(report: RunReport, plan: Plan | None) -> dict[str, str]:
    """Return why each state that was held back was so, by tag: ``requires pkg: nginx, which failed``.

    What the plan does not tell, such as a failure on another host, is left out: the comment of the row says it.
    """
    if plan is None or not any(map(was_held_back, report.rows.values())):
        return {}
    return told(Needs.of(plan), {"": report.rows})


def told(needs: Needs, rows: Mapping[str, Mapping[str, Row]]) -> dict[str, str]:
    """Return why each state of the host "" that was held back was so; ``rows`` are those of each host by tag."""
    found = ((tag, needs.unmet(tag, rows)) for tag, row in rows[""].items() if was_held_back(row))
    return {tag: words for tag, words in found if words}


class Needs:
    """Which states each state of a host needs, according to its plan.

    ``states`` are those of the nodes, None for one that joins others. ``edges`` have the nodes before and after, and
    why.
    """

    def __init__(self, states: Sequence[PlacedState | None], edges: Iterable[tuple[int, int, Iterable[str]]]) -> None:
        self._states = states
        self._members: dict[int, list[int]] = {}
        self._needed: dict[str, list[tuple[str, int]]] = {}
        for before, after, sources in edges:
            state = states[after]
            if state is None and tuple(sources) == (GROUP,):  # it waits for it, and does not stand for it
                continue
            if state is None:
                self._members.setdefault(after, []).append(before)
            elif words := [_WORDS[source] for source in sources if source in _WORDS]:
                self._needed.setdefault(state.tag, []).extend((word, before) for word in words)

    @classmethod
    def of(cls, plan: Plan) -> Needs:
        """Return those of this machine."""
        named = {NodeKind.CHUNK, NodeKind.CHECK}
        states = [PlacedState("", plan.chunks[node.chunk].tag) if node.kind in named else None for node in plan.nodes]
        return cls(states, ((before, after, sources) for before, after, sources, _ in plan.dag.joined()))

    def unmet(self, tag: str, rows: Mapping[str, Mapping[str, Row]]) -> str:
        """Return which failure held a state back; "" if the plan does not tell.

        ``rows`` are those of each host by tag, of this one under "". Of others than those that failed, none is needed.
        """
        targets = ((word, state) for word, node in self._needed.get(tag, ()) for state in self._behind(node))
        found = ((word, state, rows.get(state.host, {}).get(state.tag)) for word, state in targets)
        failed = {state: (word, was_held_back(row)) for word, state, row in found if row and row["result"] is False}
        to_blame = {state: (word, held) for state, (word, held) in failed.items() if not held or word != _PREREQ_OF}
        return _words(to_blame or failed) if failed else ""

    def _behind(self, node: int) -> Iterator[PlacedState]:
        """Yield the states that a node stands for."""
        for end in ends([node], lambda joint: self._members.get(joint, ()), lambda each: self._states[each] is None):
            if (state := self._states[end]) is not None:
                yield state


def _words(failed: Mapping[PlacedState, tuple[str, bool]]) -> str:
    """Name one of the states to blame, if possible one that failed of itself, and count the others."""
    state, (word, held) = next(((each, of) for each, of in failed.items() if not of[1]), next(iter(failed.items())))
    where = f" on {one_line(state.host)}" if state.host else ""
    more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    return f"{word} {_reference(state.tag)}{where}, which {'was held back' if held else 'failed'}{more}"


def _reference(tag: str) -> str:
    """Return what a requisite calls a state: its module and its ID."""
    try:
        parts = parse_tag(tag)
    except ValueError:  # a plugin may return a row under any key
        return one_line(tag)
    return f"{parts.state}: {one_line(parts.id)}"
