"""The unfinished states of a past run: failed or not started ones, and states that react to their changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.model.event import ChunkFinished
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind
from asyncstate.model.walk import edges_through, stands_for

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from asyncstate.model.event import Event
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import RunReport

_BY_CHANGES = frozenset({RequisiteKind.ONCHANGES, RequisiteKind.WATCH, RequisiteKind.PREREQ})
"""Requisites by which a change of another state makes a state run, or run differently."""


def unfinished_tags(plan: Plan | None, report: RunReport, events: Iterable[Event]) -> list[str]:
    """Return the tags of the states of a plan that failed in its run or did not start, and of listeners that did.

    Handled failures do not count. The failure of a sub-state counts for its state. Without a ``plan``, the unstarted
    states of a killed run are missing.
    """
    failed = set(report.failed)
    parents = {
        event.tag for event in events if isinstance(event, ChunkFinished) and not failed.isdisjoint(event.sub_rows)
    }
    left = failed | parents | set(report.not_started)
    if plan is None:
        return [tag for tag in (*report.rows, *report.not_started) if tag in left]
    chunks = [chunk.tag for chunk in plan.chunks if chunk.tag in left or chunk.tag not in report.rows]
    return [*chunks, *dict.fromkeys(node.label for node in plan.listeners if node.label in left)]


def ids_to_repeat(plan: Plan, shown: Plan, tags: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the IDs to select, and the tags that the tree no longer has.

    ``shown`` is the plan for display, the source of ``tags``. The result includes all states that run because of a
    change of these: the change is still to come.
    """
    by_tag = {chunk.tag: chunk.index for chunk in shown.chunks}
    by_tag |= {node.label: node.chunk for node in shown.nodes if node.kind is NodeKind.LISTENER}
    found = {by_tag[tag] for tag in tags if tag in by_tag}
    wanted = _with_followers(plan, found)
    ids = dict.fromkeys(plan.chunks[index].id for index in sorted(wanted))
    return list(ids), [tag for tag in tags if tag not in by_tag]


def _with_followers(plan: Plan, chunks: set[int]) -> set[int]:
    """Return the chunks and all that depend on their changes, directly or through others."""
    followers: dict[int, list[int]] = {}
    for chunk, requisites in enumerate(plan.requisites):
        for requisite in requisites:
            if requisite.kind.family in _BY_CHANGES:
                for node in stands_for(plan, [requisite.node]):
                    followers.setdefault(plan.nodes[node].chunk, []).append(chunk)
    for listener in plan.listeners:
        for target in listener.members:
            followers.setdefault(plan.nodes[target].chunk, []).append(listener.chunk)
    return chunks.union(chunk for _, chunk in edges_through(chunks, lambda at: followers.get(at, ())))
