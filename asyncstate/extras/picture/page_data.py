"""The data of a run's page: its states, and the edges between them. The scripts in `page/` show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.extras.picture.reduction import transitive_reduction
from asyncstate.model.chunk import file_line, parse_tag
from asyncstate.model.plan import NodeKind
from asyncstate.model.result import STATE_RAN, changes_something, was_held_back
from asyncstate.report.edges import REQUISITES, plan_edges
from asyncstate.report.nested import nested_lines
from asyncstate.report.summary import AS_WANTED, describe_tag
from asyncstate.report.terminal import Palette, clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from asyncstate.model.plan import Node, Plan
    from asyncstate.model.result import HostResult, Row

WORDS = {
    "failed": "Failed",
    "held": "Held back",
    "handled": "Failed, and handled",
    "waiting": "Not started",
    "would": "Would change",
    "changed": "Changed",
    "skipped": "Not needed",
    "unchanged": AS_WANTED.capitalize(),
    "planned": "Planned",
}
"""Kinds of states and their labels, the worst first; the picture of a plan has planned ones only. A failed requisite
holds a state back; an unmet requisite or condition makes it not needed."""

_MOST_EDGES = 200_000
"""With more edges, those implied by other paths are left out: a browser must open the page."""
_SLS_NAMED = 20
_MARKS = Palette(green="\x01", red="\x02", cyan="\x03", reset="\x04")
"""Marks for colours, made of characters that `clean` removes from all texts."""


class PageState(msgspec.Struct, omit_defaults=True):
    """A state on the page. ``kind`` is a key of `WORDS`; ``place`` is its file and line.

    ``held`` is the requisite that held it back; ``changes`` has the marks for colours. Times are in seconds since the
    run began; without ``ended`` it never had a slot. ``host`` is the number of its host, ``lane`` a lane of that host.
    """

    function: str
    id: str
    kind: str
    name: str = ""
    sls: str = ""
    place: str = ""
    comment: str = ""
    held: str = ""
    changes: str = ""
    warnings: tuple[str, ...] = ()
    host: int = 0
    lane: int = 0
    began: float | None = None
    ended: float | None = None
    waited: float = 0.0
    critical: bool = False


class PageData(msgspec.Struct):
    """All data for the scripts of the page.

    Nodes are numbered: ``states`` first, then ``joints``, the labels of all other nodes. An edge is (before, after,
    number of its reason, whether no other path implies it), a reason is (its text, ``requisite``, ``order`` or
    ``across``, which leads from one host to another).
    """

    states: list[PageState] = []
    joints: list[str] = []
    edges: list[tuple[int, int, int, bool]] = []
    reasons: list[tuple[str, str]] = []
    hosts: list[str] = []
    failed_hosts: list[int] = msgspec.field(name="failedHosts", default_factory=list)
    wall: float = 0.0
    words: dict[str, str] = msgspec.field(default_factory=lambda: WORDS)

    def add(self, result: HostResult, host: int = 0) -> dict[str, int]:
        """Add the states of a host in serial order, then those that were not started; return their numbers by tag.

        ``host`` is the number of the host. The tag "" is a state of its own with the reason for a missing report.
        """
        first = len(self.states)
        tags = []
        for tag, state in _page_states(result, host):
            tags.append(tag)
            self.states.append(state)
        return {tag: first + place for place, tag in enumerate(tags)}

    def place_bars(self, numbers: Mapping[str, int], timings: Iterable[Any], begin: float = 0.0) -> None:
        """Set the times and lanes of a host's states. ``begin`` is the start of its part, in seconds."""
        timings = sorted(timings, key=lambda timing: timing.started)
        for timing, lane in zip(timings, assign_lanes(timings), strict=True):
            if timing.tag in numbers:
                state = self.states[numbers[timing.tag]]
                state.began, state.ended = round(begin + timing.started, 6), round(begin + timing.ended, 6)
                state.lane = lane
                state.waited = timing.waited if timing.waited >= 0.001 else 0.0

    def join(self, edges: Iterable[tuple[int, int, Sequence[str], Sequence[str], bool]]) -> None:
        """Set the edges: the nodes before and after, the sources and resources, and whether it leads to another host.

        Of several edges between two nodes, the first counts.
        """
        reasons: dict[tuple[str, str], int] = {}
        joined: dict[tuple[int, int], int] = {}
        for before, after, sources, resources, across in edges:
            if before != after:
                family = "across" if across else "order" if REQUISITES.isdisjoint(sources) else "requisite"
                reason = clean(", ".join([*sources, *resources]))
                joined.setdefault((before, after), reasons.setdefault((reason, family), len(reasons)))
        self.reasons = list(reasons)
        try:
            needed = set(transitive_reduction(len(self.states) + len(self.joints), joined))
        except ValueError:  # in a damaged record, states can wait for each other
            needed = set(joined)
        kept = needed if len(joined) > _MOST_EDGES else joined
        self.edges = [(*edge, joined[edge], edge in needed) for edge in joined if edge in kept]

    def sls(self, asked: Sequence[str] = ()) -> str:
        """Return the SLS names given to a run; without any, the SLS of its states, which the top file named."""
        named = list(asked) or list(dict.fromkeys(state.sls for state in self.states if state.sls))
        more = f" and {len(named) - _SLS_NAMED} more" if len(named) > _SLS_NAMED else ""
        return ", ".join(named[:_SLS_NAMED]) + more


def kind_of(row: Row, *, test: bool, handled: bool = False) -> str:
    """Return the kind of a state by its row: a key of `WORDS`."""
    if row["result"] is False:
        if handled:
            return "handled"
        return "held" if was_held_back(row) else "failed"
    if row.get(STATE_RAN) is False:
        return "skipped"
    if changes_something(row, test=test):
        return "would" if test else "changed"
    return "unchanged"


def _page_states(result: HostResult, host: int) -> Iterator[tuple[str, PageState]]:
    if result.problem:
        yield "", PageState("", clean(result.host), "failed", comment=clean(result.problem), host=host)
    report = result.report
    handled = frozenset(report.handled)
    for tag, row in report.rows.items():
        kind = kind_of(row, test=report.test, handled=tag in handled)
        state = _state(tag, row, kind, file_line(*result.place(tag)), host)
        state.held = clean(result.held.get(tag, ""))
        yield tag, state
    for tag in report.not_started:
        yield tag, _state(tag, {}, "waiting", file_line(*result.place(tag)), host)


def _state(tag: str, row: Row, kind: str, place: str, host: int) -> PageState:
    try:
        parts = parse_tag(tag)
        function, id_, name = f"{parts.state}.{parts.fun}", parts.id, parts.name
    except ValueError:  # a plugin may return a row under any key
        function, id_, name = "", tag, ""
    changes = row.get("changes")
    return PageState(
        function=clean(function),
        id=clean(id_),
        kind=kind,
        name=clean(name) if name != id_ else "",
        sls=clean(str(row.get("__sls__") or "")),
        place=clean(place),
        comment=clean(_comment(row.get("comment", ""))).strip(),
        changes="\n".join(nested_lines(changes, 0, _MARKS)) if changes else "",
        warnings=tuple(clean(str(each)) for each in row.get("warnings") or ()),
        host=host,
    )


def _comment(comment: object) -> str:
    return "\n".join(map(str, comment)) if isinstance(comment, (list, tuple)) else str(comment)


def assign_lanes(timings: Sequence[Any]) -> list[int]:
    """Return the number of a lane for each timing, in order of start: the first free one."""
    free_at: list[float] = []
    lanes = []
    for timing in timings:
        lane = next((number for number, end in enumerate(free_at) if end <= timing.started), len(free_at))
        if lane == len(free_at):
            free_at.append(0.0)
        free_at[lane] = timing.ended
        lanes.append(lane)
    return lanes


def add_plan(data: PageData, plan: Plan, numbers: Mapping[str, int]) -> None:
    """Add the graph of a plan to a page; ``numbers`` are the numbers of the page's states, by tag.

    Nodes that are no states, such as the target set of a glob, become joints; so do states without a row.
    """
    node_of = list(_nodes(data, plan, numbers))
    data.join(
        (node_of[before], node_of[after], sources, resources, False)
        for before, after, sources, resources in plan_edges(plan)
    )


def _nodes(data: PageData, plan: Plan, numbers: Mapping[str, int]) -> Iterator[int]:
    """Yield the number on the page for each node of the plan."""
    for node in plan.nodes:
        tag = _row_of(plan, node)
        number = numbers.get(tag, -1) if tag else -1
        if number < 0:
            number = len(data.states) + len(data.joints)
            data.joints.append(clean(node_label(plan, node)))
        yield number


def _row_of(plan: Plan, node: Node) -> str:
    """Return the tag of a node's row, "" if it has none."""
    if node.kind is NodeKind.CHUNK:
        return plan.chunks[node.chunk].tag
    return node.label if node.kind is NodeKind.LISTENER else ""


def node_label(plan: Plan, node: Node, group: str = "group") -> str:
    """Return the label of a node: its state, or a word for a node that joins states; ``group`` is that for a GROUP."""
    match node.kind:
        case NodeKind.CHUNK:
            return describe_tag(plan.chunks[node.chunk].tag)
        case NodeKind.CHECK:
            return f"check {describe_tag(plan.chunks[node.chunk].tag)}"
        case NodeKind.LISTENER:
            return describe_tag(node.label)
        case kind:
            return node.label or {NodeKind.SET: "all of", NodeKind.STAGE: "stage", NodeKind.GROUP: group}.get(kind, "")
