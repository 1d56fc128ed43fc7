"""What to say about a cycle: Salt's line, and then where each state of it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.compile.wiring import KINDS, PREREQUIRED, SET_MEMBER
from asyncstate.model.dag import Dag
from asyncstate.model.plan import NodeKind

if TYPE_CHECKING:
    from asyncstate.compile.findings import Findings
    from asyncstate.compile.low import Draft
    from asyncstate.compile.wiring import Wiring

_SHOWN = 8
"""How many links of a cycle are shown; the rest of a longer one is counted."""


def report_cycle(wiring: Wiring, findings: Findings) -> None:
    """Find a shortest cycle and report it."""
    links = _links(wiring, _find(wiring))
    shown = [_link_text(*link) for link in links[:_SHOWN]]
    left = len(links) - len(shown)
    if left:
        shown.append(f"… and {left} more")
    places = [f"{after.place} {kind} {before.place}" for after, kind, before in links[:_SHOWN]]
    hint = "\n    ".join([*places, *([f"… {left} more, and back to {links[0][2].place}"] if left else [])])
    first = links[0][0]
    findings.cyclic = True
    findings.error_at(f"Recursive requisites were found: {', '.join(shown)}", first.file, first.line, hint)


def _find(wiring: Wiring) -> list[int]:
    dag = Dag(len(wiring.chunk))
    for node, targets in enumerate(wiring.after):
        for target in targets:
            dag.add(node, target, "")
    return dag.find_cycle()


def _links(wiring: Wiring, cycle: list[int]) -> list[tuple[Draft, str, Draft]]:
    """Return (dependent, kind, dependency) for each step of the cycle, sets left out."""
    steps = [node for node in cycle if wiring.kind[node] is not NodeKind.SET]
    links = []
    for position, node in enumerate(cycle):
        if wiring.kind[node] is NodeKind.SET:
            continue
        after, kind = cycle[(position + 1) % len(cycle)], -1
        kind = _kind(wiring, node, after)
        if kind == SET_MEMBER:
            target = cycle[(position + 2) % len(cycle)]
            kind, after = _kind(wiring, after, target), target
        links.append(
            (_draft(wiring, after), KINDS[kind].value if kind != PREREQUIRED else "prereq", _draft(wiring, node))
        )
    return links if steps else []


def _kind(wiring: Wiring, before: int, after: int) -> int:
    return wiring.kinds[before][wiring.after[before].index(after)]


def _draft(wiring: Wiring, node: int) -> Draft:
    return wiring.drafts[wiring.chunk[node]]


def _link_text(after: Draft, kind: str, before: Draft) -> str:
    return f"({_label(after)}, '{kind}', {_label(before)})"


def _label(draft: Draft) -> str:
    label = {"SLS": draft.sls, "ID": draft.id}
    if draft.name != draft.id:
        label["NAME"] = draft.name
    return str(label)
