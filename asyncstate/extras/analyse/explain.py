"""Explanation of one state in a plan: its place in the order, with reasons, and its dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.extras.analyse.waits import wait_lines, waits
from asyncstate.model.dag import FOOTPRINT
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import CONDITIONS, RequisiteKind
from asyncstate.model.walk import Walk, edges_beyond, stands_for
from asyncstate.report.summary import describe_tag
from asyncstate.report.terminal import PLAIN, Palette, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.extras.analyse.profile import Profile
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan

_RULES = {
    "require": "none of these may have failed",
    "require_any": "one of these must not have failed",
    "watch": "none of these may have failed; after a change of one, mod_watch is called if this state changes nothing",
    "watch_any": "one of these must not have failed; after a change, mod_watch is called if this state changes nothing",
    "onchanges": "one of these must have changed",
    "onchanges_any": "one of these must have changed",
    "onfail": "one of these must have failed",
    "onfail_any": "one of these must have failed",
    "onfail_all": "all of these must have failed",
    "prereq": "the check of one of these must predict a change; they run afterwards",
    "prerequired": "these run first, and none of them may have failed",
}
_OWN_CONDITIONS = (
    *(*CONDITIONS, "retry", "timeout", "failhard"),
    *("lane", "exclusive", "parallel", "footprint", "umask", "aggregate", "onfail_stop", "fleet_order", "fleet_lane"),
)
_REQUISITES = frozenset(kind.value for kind in RequisiteKind)
_SOURCES = {
    "stage": "an explicit order",
    "file": "the order of the file",
    "footprint": "something both touch",
    "group": "aggregation",
    "set": "a group",
}
_LISTED = 12


def explanation(plan: Plan, index: int, profile: Profile | None = None) -> dict[str, Any]:
    """Return all relations that determine one state; names are ``function: name`` as in the human report.

    With the ``profile`` of a run, ``run`` is its history in that run: see `asyncstate.extras.analyse.waits.waits`.
    """
    chunk, walk, nodes = plan.chunks[index], Walk(plan, contingent=plan.contingent), plan.calls_of(index)
    facts = {
        "tag": chunk.tag,
        "function": chunk.function,
        "id": chunk.id,
        "name": chunk.name,
        "sls": chunk.sls,
        "place": chunk.where,
        "order": chunk.order,
        "position": index + 1,
        "of": len(plan.chunks),
        "before_its_order": _pulled_by(plan, chunk),
        "requisites": _requisites(plan, index),
        "waits_for": _other_waits(plan, walk, nodes),
        "waited_for_by": _waiting(plan, walk, nodes),
        "conditions": {key: chunk.args[key] for key in _OWN_CONDITIONS if key in chunk.args},
        "aggregated_with": _group(plan, index),
        "not_aggregated": plan.not_aggregated.get(index, ""),
        "listens_to": [
            _name(plan, target) for listener in plan.listeners if listener.chunk == index for target in listener.members
        ],
        "unknown_effects": plan.unknown.get(index, ""),
    }
    return facts if profile is None else {**facts, "run": waits(plan, index, profile)}


def explain_lines(plan: Plan, index: int, palette: Palette = PLAIN, profile: Profile | None = None) -> Iterator[str]:
    """Yield the explanation of one state as lines of text, with its history in a run."""
    facts = explanation(plan, index)
    title = palette.paint(palette.bold, describe_tag(facts["tag"]))
    yield f"{title}  {palette.paint(palette.cyan, facts['sls'])}  {facts['place']}".rstrip()
    yield f"  Number {facts['position']} of {facts['of']} in serial order; its order is {facts['order']}."
    if facts["before_its_order"]:
        yield f"  It comes earlier than its order says, for {_listing(facts['before_its_order'])}."
    for kind, targets in facts["requisites"].items():
        yield f"  {palette.paint(palette.yellow, kind)}: {_RULES[kind]}"
        yield from indented(targets)
    for source, names in facts["waits_for"].items():
        yield f"  Waits because of {_SOURCES.get(source, source)} for"
        yield from indented(names)
    if not facts["requisites"] and not facts["waits_for"]:
        yield "  Waits for nothing."
    if facts["waited_for_by"]:
        yield "  Waited for by"
        yield from indented(facts["waited_for_by"])
    for key, value in facts["conditions"].items():
        yield f"  {palette.paint(palette.yellow, key)}: {one_line(str(value))}"
    if facts["aggregated_with"]:
        yield "  Aggregated with"
        yield from indented(facts["aggregated_with"])
    if facts["not_aggregated"]:
        where = " with those before" if facts["aggregated_with"] else ""
        yield f"  Not aggregated{where}: {facts['not_aggregated']}"
    if facts["listens_to"]:
        yield "  Its mod_watch is called after the run if one of these changes"
        yield from indented(facts["listens_to"])
    if facts["unknown_effects"]:
        yield f"  It may touch more than is known: {facts['unknown_effects']}."
        yield "  Only the relations above determine its place."
    if profile is not None:
        yield from wait_lines(plan, index, profile, palette)


def indented(names: list[str]) -> Iterator[str]:
    """Yield the first names as lines, and the number of the others."""
    yield from (f"    - {name}" for name in names[:_LISTED])
    if len(names) > _LISTED:
        yield f"    and {len(names) - _LISTED} more"


def _listing(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _name(plan: Plan, number: int) -> str:
    node = plan.nodes[number]
    if node.kind is NodeKind.CHUNK:
        return describe_tag(plan.chunks[number].tag)
    if node.kind is NodeKind.CHECK:
        return f"the check of {describe_tag(plan.chunks[node.chunk].tag)}"
    return node.label or "several states"


def _requisites(plan: Plan, index: int) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for requisite in plan.requisites[index]:
        names = (_name(plan, each) for each in stands_for(plan, [requisite.node]))
        found.setdefault(requisite.kind.value, []).extend(names)
    return found


def _other_waits(plan: Plan, walk: Walk, nodes: tuple[int, ...]) -> dict[str, list[str]]:
    """Return the states that a state waits for without a requisite, by reason."""
    found: dict[str, list[str]] = {}
    for other, reason in walk.before(*nodes).items():
        for source in reason.sources if _REQUISITES.isdisjoint(reason.sources) else ():
            name = _name(plan, other)
            if source == FOOTPRINT:
                name += f" — {', '.join(reason.resources)}"
            if reason.unless:
                name += f", unless {' and '.join(_name(plan, proof) for proof in reason.unless)} succeeds first"
            found.setdefault(source, []).append(name)
    return found


def _waiting(plan: Plan, walk: Walk, nodes: tuple[int, ...]) -> list[str]:
    """Return the states that wait for a state, in serial order."""
    return [_name(plan, each) for each in sorted({plan.nodes[node].chunk for node in walk.after(*nodes)})]


def _pulled_by(plan: Plan, chunk: LowChunk) -> list[str]:
    """Return the states that pull this one before its own ``order``: they require it, and have a smaller one."""

    def needing(node: int) -> Iterator[int]:
        for other in plan.dag.successors(node):
            if plan.nodes[other].kind is NodeKind.SET or not _REQUISITES.isdisjoint(plan.dag.sources(node, other)):
                yield other

    def comes_later(node: int) -> bool:
        return plan.nodes[node].chunk < 0 or plan.chunks[plan.nodes[node].chunk].order >= chunk.order

    found = {plan.nodes[end].chunk for _, end in edges_beyond([chunk.index], needing, comes_later)}
    return [_name(plan, number) for number in sorted(found)]


def _group(plan: Plan, index: int) -> list[str]:
    for node in plan.nodes[len(plan.chunks) :]:
        if node.kind is NodeKind.GROUP and index in node.members:
            return [_name(plan, member) for member in node.members if member != index]
    return []
