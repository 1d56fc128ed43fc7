"""The data of a run's page: its states, and the edges between them. The scripts in `page/` show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from asyncstate.model.chunk import parse_tag
from asyncstate.model.plan import NodeKind
from asyncstate.model.reduction import transitive_reduction
from asyncstate.model.requisite import RequisiteKind
from asyncstate.model.result import STATE_RAN, changes_something, was_held_back
from asyncstate.report.nested import nested_lines
from asyncstate.report.summary import AS_WANTED, describe_tag
from asyncstate.report.terminal import Palette, clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from asyncstate.model.plan import Node, Plan
    from asyncstate.model.result import Row, RunReport
    from asyncstate.report.profile import Timing

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
_REQUISITES = frozenset(kind.value for kind in RequisiteKind)
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

    states: list[PageState]
    joints: list[str] = []
    edges: list[tuple[int, int, int, bool]] = []
    reasons: list[tuple[str, str]] = []
    hosts: list[str] = []
    failed_hosts: list[int] = msgspec.field(name="failedHosts", default_factory=list)
    wall: float = 0.0
    words: dict[str, str] = msgspec.field(default_factory=lambda: WORDS)


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


def page_states(
    report: RunReport, places: Mapping[str, str], held: Mapping[str, str], host: int = 0
) -> Iterator[tuple[str, PageState]]:
    """Yield every state of a report with its tag, in serial order, then those that were not started.

    ``places`` are file and line of states, by tag; ``held`` are the reasons why states were held back.
    """
    handled = frozenset(report.handled)
    for tag, row in report.rows.items():
        kind = kind_of(row, test=report.test, handled=tag in handled)
        state = _state(tag, row, kind, places.get(tag, ""), host)
        state.held = clean(held.get(tag, ""))
        yield tag, state
    for tag in report.not_started:
        yield tag, _state(tag, {}, "waiting", places.get(tag, ""), host)


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


def place_bars(states: Mapping[str, PageState], timings: Iterable[Timing], begin: float = 0.0) -> None:
    """Set the times and lanes of a host's states. ``begin`` is the start of its part, in seconds."""
    timings = sorted(timings, key=lambda timing: timing.started)
    for timing, lane in zip(timings, assign_lanes(timings), strict=True):
        state = states.get(timing.tag)
        if state is not None:
            state.began, state.ended = round(begin + timing.started, 6), round(begin + timing.ended, 6)
            state.lane = lane
            state.waited = timing.waited if timing.waited >= 0.001 else 0.0


def assign_lanes(timings: Sequence[Timing]) -> list[int]:
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


def family_of(sources: Iterable[str], *, across: bool = False) -> str:
    """Return the kind of an edge: ``requisite``, ``order``, or ``across`` if it leads from one host to another."""
    if across:
        return "across"
    return "order" if _REQUISITES.isdisjoint(sources) else "requisite"


class Edges:
    """Collects the edges of a page by their reasons."""

    def __init__(self) -> None:
        self._reasons: dict[tuple[str, str], int] = {}
        self._edges: dict[tuple[int, int], int] = {}

    def add(self, before: int, after: int, reason: str, family: str) -> None:
        """Add an edge between two nodes; the first reason given for it counts."""
        if before != after:
            number = self._reasons.setdefault((clean(reason), family), len(self._reasons))
            self._edges.setdefault((before, after), number)

    def put_into(self, data: PageData) -> None:
        """Set the edges of a page and their reasons."""
        data.reasons = list(self._reasons)
        size = len(data.states) + len(data.joints)
        try:
            needed = set(transitive_reduction(size, self._edges))
        except ValueError:  # in a damaged record, states can wait for each other
            needed = set(self._edges)
        kept = needed if len(self._edges) > _MOST_EDGES else self._edges
        data.edges = [(*edge, self._edges[edge], edge in needed) for edge in self._edges if edge in kept]


def add_plan(data: PageData, plan: Plan, numbers: Mapping[str, int]) -> None:
    """Add the graph of a plan to a page; ``numbers`` are the numbers of the page's states, by tag.

    Nodes that are no states, such as the target set of a glob, become joints; so do states without a row.
    """
    node_of = list(_nodes(data, plan, numbers))
    edges = Edges()
    for before, after, sources, resources in plan.dag.joined():
        edges.add(node_of[before], node_of[after], ", ".join([*sources, *resources]), family_of(sources))
    for number, node in enumerate(plan.nodes):
        if node.kind is NodeKind.LISTENER:
            for target in node.members:
                edges.add(node_of[target], node_of[number], RequisiteKind.LISTEN.value, "requisite")
    edges.put_into(data)


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


def add_releases(edges: Edges, data: PageData, releases: Iterable[tuple[int, Timing, int]]) -> None:
    """Add edges for a run without a plan: (state, its timing, the state that released it last), states by number."""
    for number, timing, before in releases:
        across = data.states[number].host != data.states[before].host
        reason = ", ".join([*timing.because, *timing.resources])
        edges.add(before, number, reason, family_of(timing.because, across=across))
