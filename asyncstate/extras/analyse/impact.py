"""The impact of one state: all states that run, restart, fail or are skipped because of its outcome."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from asyncstate.extras.analyse.explain import indented
from asyncstate.extras.analyse.reasons import reason
from asyncstate.model.requisite import RequisiteKind
from asyncstate.model.walk import Walk, stands_for
from asyncstate.report.summary import describe_tag
from asyncstate.report.terminal import PLAIN, Palette
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from asyncstate.model.plan import Plan
    from asyncstate.model.walk import Reason

IF_CHANGED = {
    "watch": "its mod_watch is called, if it changes nothing itself",
    "onchanges": "runs",
    "prereq": "runs before it",
    "listen": "its mod_watch is called after the run",
}
IF_FAILED = {
    "require": "fails without running",
    "watch": "fails without running",
    "prereq": "fails without running",
    "prerequired": "fails without running",
    "onchanges": "is skipped, unless something else it names changed",
    "onfail": "runs",
}
_UNLESS_ANY = ", unless another that it names does not fail"
_UNTIL_ALL = ", if all others that it names fail too"


class Effect(Value):
    """``chunk`` depends on ``via`` by ``kinds``; ``steps`` is the distance in requisites."""

    chunk: int
    via: int
    kinds: tuple[str, ...]
    steps: int


def effects(plan: Plan, index: int) -> list[Effect]:
    """Return every state that the outcome of a state may affect, the nearest first."""
    dependents = _dependents(plan)
    found: list[Effect] = []
    seen = {index}
    queue = deque([(index, 1)])
    while queue:
        via, steps = queue.popleft()
        for chunk, kinds in dependents.get(via, {}).items():
            if chunk not in seen:
                seen.add(chunk)
                found.append(Effect(chunk, via, tuple(kinds), steps))
                queue.append((chunk, steps + 1))
    return found


def impact(plan: Plan, index: int) -> dict[str, Any]:
    """Return the states that depend on a state: ``affected`` by requisites, ``ordered_after`` by order only."""
    chunk = plan.chunks[index]
    affected = effects(plan, index)
    decided = {effect.chunk for effect in affected}
    return {
        "tag": chunk.tag,
        "sls": chunk.sls,
        "place": chunk.where,
        "affected": [_effect(plan, effect) for effect in affected],
        "ordered_after": _ordered_after(plan, index, without=decided),
    }


def _ordered_after(plan: Plan, index: int, without: Collection[int]) -> list[dict[str, Any]]:
    """Return the states that wait directly for a state, with reasons."""
    found: dict[int, Reason] = {}
    for node, reason_ in Walk(plan, contingent=plan.contingent).after(*plan.calls_of(index)).items():
        found.setdefault(plan.nodes[node].chunk, reason_)
    return [
        {
            "tag": plan.chunks[chunk].tag,
            "sources": list(reason_.sources),
            "resources": list(reason_.resources),
            "unless": [plan.chunks[proof].tag for proof in reason_.unless],
        }
        for chunk, reason_ in sorted(found.items())
        if chunk not in without
    ]


def impact_lines(plan: Plan, index: int, palette: Palette = PLAIN) -> Iterator[str]:
    """Yield the impact of one state as lines of text."""
    facts = impact(plan, index)
    title = palette.paint(palette.bold, describe_tag(facts["tag"]))
    yield f"{title}  {palette.paint(palette.cyan, facts['sls'])}  {facts['place']}".rstrip()
    direct = [effect for effect in facts["affected"] if effect["steps"] == 1]
    for heading, key in (("If it changes", "if_changed"), ("If it fails", "if_failed")):
        outcomes = [(effect, said) for effect in direct for said in effect[key]]
        if outcomes:
            yield f"  {palette.paint(palette.yellow, heading)}"
            yield from (f"    - {describe_tag(effect['tag'])} — {said}" for effect, said in outcomes)
    further = [effect for effect in facts["affected"] if effect["steps"] > 1]
    if further:
        yield f"  {palette.paint(palette.yellow, 'It may also affect, indirectly')}"
        for effect in further:
            kinds = ", ".join(effect["requisites"])
            yield f"    - {describe_tag(effect['tag'])}, by its {kinds} on {describe_tag(effect['via'])}"
    if facts["ordered_after"]:
        yield f"  {palette.paint(palette.yellow, 'Wait for it, whatever its outcome')}"
        yield from indented([_waiting(other) for other in facts["ordered_after"]])
    if not facts["affected"] and not facts["ordered_after"]:
        yield "  Nothing depends on it."


def _waiting(other: dict[str, Any]) -> str:
    why = reason(other["sources"], other["resources"])
    if other["unless"]:
        why += f", unless {' and '.join(map(describe_tag, other['unless']))} succeeds first"
    return f"{describe_tag(other['tag'])} ({why})"


def _effect(plan: Plan, effect: Effect) -> dict[str, Any]:
    return {
        "tag": plan.chunks[effect.chunk].tag,
        "via": plan.chunks[effect.via].tag,
        "requisites": list(effect.kinds),
        "steps": effect.steps,
        "if_changed": [IF_CHANGED[kind] for kind in map(_family, effect.kinds) if kind in IF_CHANGED],
        "if_failed": list(dict.fromkeys(said for said in map(_if_failed, effect.kinds) if said)),
    }


def _family(kind: str) -> str:
    return RequisiteKind(kind).family.value


def _if_failed(kind: str) -> str:
    said = IF_FAILED.get(_family(kind), "")
    if kind in {"require_any", "watch_any"}:
        return said + _UNLESS_ANY
    return said + _UNTIL_ALL if kind == "onfail_all" else said


def _dependents(plan: Plan) -> dict[int, dict[int, list[str]]]:
    """Return, for each state, the states that name it, with their requisites."""
    found: dict[int, dict[int, list[str]]] = {}

    def note(target: int, chunk: int, kind: str) -> None:
        kinds = found.setdefault(target, {}).setdefault(chunk, [])
        if kind not in kinds:
            kinds.append(kind)

    for chunk, requisites in enumerate(plan.requisites):
        for requisite in requisites:
            for node in stands_for(plan, [requisite.node]):
                note(plan.nodes[node].chunk, chunk, requisite.kind.value)
    for listener in plan.listeners:
        for target in listener.members:
            note(target, listener.chunk, RequisiteKind.LISTEN.value)
    return found
