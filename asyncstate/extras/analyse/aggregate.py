"""The result of aggregation: the groups, and the reasons why other candidates are not aggregated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.model.plan import NodeKind
from asyncstate.report.summary import describe_tag
from asyncstate.report.terminal import PLAIN, Palette, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan


def aggregation(plan: Plan) -> dict[str, Any]:
    """Return ``{groups: [{module, transaction, apart, members, calls}], refused: [{tag, sls, place, why}]}``.

    ``transaction`` is true for a group formed by default, ``apart`` is why it does not join the one before it ("" for
    the first). ``calls`` are ``{function, members}``.

    A member is ``{tag, sls, place}``. The states of a call have one function; only the module knows whether it makes
    several calls because their other arguments differ.
    """
    nodes = [node for node in plan.nodes[len(plan.chunks) :] if node.kind is NodeKind.GROUP]
    groups = [
        {
            "module": plan.chunks[node.members[0]].state,
            "transaction": node.transaction,
            "apart": plan.not_aggregated.get(node.members[0], ""),
            "members": [_state(plan.chunks[member]) for member in node.members],
            "calls": [
                {"function": function, "members": [_state(chunk) for chunk in chunks]}
                for function, chunks in _by_function(plan.chunks[member] for member in node.members).items()
            ],
        }
        for node in nodes
    ]
    alone = sorted(plan.not_aggregated.keys() - {node.members[0] for node in nodes})
    refused = [{**_state(plan.chunks[chunk]), "why": plan.not_aggregated[chunk]} for chunk in alone]
    return {"groups": groups, "refused": refused}


def aggregation_lines(plan: Plan, palette: Palette = PLAIN) -> Iterator[str]:
    """Yield the groups and the refusals as lines of text."""
    facts = aggregation(plan)
    for group in facts["groups"]:
        calls = f"{count(len(group['calls']), 'call')} for those that may run"
        if group["transaction"]:
            calls = "1 transaction by default, each in its own place"
        yield palette.paint(palette.bold, f"{group['module']}: {count(len(group['members']), 'state')}, {calls}")
        if group["apart"]:
            yield f"  not with the states before: {group['apart']}"
        for call in group["calls"]:
            yield f"  {call['function']}: {count(len(call['members']), 'state')}"
            yield from (f"    - {_named(member, palette)}" for member in call["members"])
    if facts["refused"]:
        yield palette.paint(palette.bold, "Not aggregated")
        for state in facts["refused"]:
            yield f"  - {_named(state, palette)}"
            yield f"      {state['why']}"
    if not facts["groups"] and not facts["refused"]:
        yield NONE


NONE = (
    "No state may be aggregated: state_aggregate of the configuration or aggregate on a state must ask for it, "
    "and the state module must have mod_aggregate; by default only package states are joined."
)


def _by_function(chunks: Iterable[LowChunk]) -> dict[str, list[LowChunk]]:
    found: dict[str, list[LowChunk]] = {}
    for chunk in chunks:
        found.setdefault(chunk.function, []).append(chunk)
    return found


def _state(chunk: LowChunk) -> dict[str, Any]:
    return {"tag": chunk.tag, "sls": chunk.sls, "place": chunk.where}


def _named(state: dict[str, Any], palette: Palette) -> str:
    name, sls = describe_tag(state["tag"]), palette.paint(palette.cyan, state["sls"])
    return f"{name}  {sls}  {palette.paint(palette.dim, state['place'])}".rstrip()
