"""Which failed requisite holds a state back, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind
from asyncstate.model.result import STATE_RAN
from asyncstate.model.tag import parse_tag, state_tag
from asyncstate.report.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from asyncstate.fleet.protocol import HostPlan
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


def was_held_back(row: Row) -> bool:
    """Whether a failed requisite kept a state from running."""
    return row["result"] is False and not row.get(STATE_RAN, True)


def held_back(report: RunReport, plan: Plan | None) -> dict[str, str]:
    """Return why each state that was held back was so, by tag: ``requires pkg: nginx, which failed``.

    What the plan does not tell, such as a failure on another host, is left out: the comment of the row says it.
    """
    if plan is None or not _held(report.rows):
        return {}
    named = {NodeKind.CHUNK, NodeKind.CHECK}
    tags = [plan.chunks[node.chunk].tag if node.kind in named else "" for node in plan.nodes]
    return _told(report.rows, tags, ((before, after, sources) for before, after, sources, _ in plan.dag.joined()))


def held_back_on_host(report: RunReport, plan: HostPlan | None) -> dict[str, str]:
    """Return what `held_back` does, from what a host of a fleet told of its plan."""
    if plan is None or not _held(report.rows):
        return {}
    tags = [state_tag(each.state, each.id, each.name, each.fun) for each in plan.states]
    tags += [""] * (plan.nodes - len(tags))
    for chunk, node in plan.checks:
        tags[node] = tags[chunk]
    pairs = zip(plan.edges[::2], plan.edges[1::2], plan.sources, strict=True)
    return _told(report.rows, tags, ((before, after, text.split(",")) for before, after, text in pairs))


def _held(rows: Mapping[str, Row]) -> frozenset[str]:
    return frozenset(tag for tag, row in rows.items() if was_held_back(row))


def _told(
    rows: Mapping[str, Row], tags: Sequence[str], edges: Iterable[tuple[int, int, Iterable[str]]]
) -> dict[str, str]:
    """Return the words by tag. ``tags`` are those of the nodes, "" for one that joins others; it lets them through."""
    held = _held(rows)
    members: dict[int, list[int]] = {}
    needed: dict[str, list[tuple[str, int]]] = {}
    for before, after, sources in edges:
        tag = tags[after]
        if not tag:
            members.setdefault(after, []).append(before)
        elif tag in held:
            words = (_WORDS[source] for source in sources if source in _WORDS)
            needed.setdefault(tag, []).extend((word, before) for word in words)
    told = {}
    for tag, wanted in needed.items():
        targets = ((word, target) for word, node in wanted for target in _behind(node, tags, members))
        failed = {target: word for word, target in targets if target in rows and rows[target]["result"] is False}
        to_blame = {target: word for target, word in failed.items() if target not in held or word != _PREREQ_OF}
        if failed:
            told[tag] = _words(to_blame or failed, held)
    return told


def _behind(node: int, tags: Sequence[str], members: Mapping[int, Sequence[int]]) -> Iterator[str]:
    """Yield the states that a node stands for."""
    if tags[node]:
        yield tags[node]
    else:
        yield from (tags[member] for member in members.get(node, ()) if tags[member])


def _words(failed: Mapping[str, str], held: frozenset[str]) -> str:
    """Name one of the states to blame, if possible one that failed of itself, and count the others."""
    tag = next((tag for tag in failed if tag not in held), next(iter(failed)))
    more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    return f"{failed[tag]} {_reference(tag)}, which {'was held back' if tag in held else 'failed'}{more}"


def _reference(tag: str) -> str:
    """Return what a requisite calls a state: its module and its ID."""
    try:
        parts = parse_tag(tag)
    except ValueError:  # a plugin may return a row under any key
        return one_line(tag)
    return f"{parts.state}: {one_line(parts.id)}"
