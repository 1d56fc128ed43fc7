"""Resumes a run: a state that had ended keeps its row and does not run again; all others run as in any run.

The scheduler does not know of it: it gets the rows of earlier runs as if their states had run now, so that every
requisite, listener and aggregation sees them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind
from asyncstate.model.walk import stands_for
from asyncstate.resume.earlier_runs import Unknown
from asyncstate.run.delegating_dispatch import DelegatingDispatch
from asyncstate.run.rows import CarriedRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row
    from asyncstate.resume.earlier_runs import EarlierRuns, Ended
    from asyncstate.run.dispatch import Dispatch, SharedWork
    from asyncstate.run.machine import Work

_HARMLESS = frozenset({"test"})
"""State modules that touch nothing, so that a cut-off call leaves nothing either."""
_FOLLOWING = frozenset({RequisiteKind.WATCH, RequisiteKind.ONCHANGES, RequisiteKind.LISTEN})


class ResumedDispatch(DelegatingDispatch):
    """Runs only the states that earlier runs left; a `Dispatch`. ``shown_tag`` returns the tag without secrets."""

    def __init__(self, plan: Plan, inner: Dispatch, shown_tag: Callable[[str], str]) -> None:
        super().__init__(inner)
        self._past: EarlierRuns | None = None
        self._plan = plan
        self._shown_tag = shown_tag
        self._transactions = {member for node in plan.nodes if node.transaction for member in node.members}
        self._followed = _followed(plan)

    def go_on_from(self, past: EarlierRuns) -> None:
        """Accept the results of earlier runs, before the run begins.

        A call that was cut off may have done the work of its whole group, unless a common call has ended and
        distributed its results: otherwise, all members are unknown.
        """
        self._past = past
        told = [shared for tag, shared in past.shared.items() if (tag, False) in past.ended]
        settled = {tag for shared in told for tag in (*shared.rows, *shared.changes)}
        for node in self._plan.nodes:
            if node.kind is NodeKind.GROUP:
                tags = [self._shown_tag(self._plan.chunks[member].tag) for member in node.members]
                open_ = [(tag, False) for tag in tags if tag not in settled and (tag, False) not in past.ended]
                cut_off = next((past.unknown[key] for key in open_ if key in past.unknown), None)
                if cut_off is not None:
                    past.unknown.update({key: Unknown(*key, since=cut_off.since) for key in open_})

    def has_ended(self, chunk: LowChunk) -> bool:
        """Whether an earlier run has a row of a chunk."""
        return self._ended(chunk) is not None

    def _ended(self, chunk: LowChunk, *, check: bool = False) -> Ended | None:
        return None if self._past is None else self._past.ended.get((self._shown_tag(chunk.tag), check))

    async def run_chunk(self, work: Work, chunk: LowChunk) -> Row:
        """Return the row of an earlier run if the chunk had ended, with the same verdict; else run it."""
        check = work.kind is NodeKind.CHECK
        ended = self._ended(chunk, check=check)
        if ended is not None and ended.why == work.verdict.value:
            carried = CarriedRow(ended.row, ended.sub_rows)
            self._inner.recall(work, chunk, carried, None if check else self._shared(ended.tag))
            return carried
        row = await self._inner.run_chunk(work, chunk)
        if work.verdict.runs:
            self._say_if_unknown(work, chunk, row)
        return row

    def _shared(self, shown: str) -> SharedWork | None:
        """Return the effects of a call on other states, under their true tags."""
        found = None if self._past is None else self._past.shared.get(shown)
        if found is None:
            return None
        true = {self._shown_tag(chunk.tag): chunk.tag for chunk in self._plan.chunks}
        return msgspec.structs.replace(
            found,
            tag=true.get(found.tag, found.tag),
            rows={true.get(tag, tag): row for tag, row in found.rows.items()},
            changes={true.get(tag, tag): each for tag, each in found.changes.items()},
        )

    def _say_if_unknown(self, work: Work, chunk: LowChunk, row: Row) -> None:
        """Note in a row that its state had started before. If it finds nothing to do, that may be why."""
        past = self._past
        if past is None or (self._shown_tag(chunk.tag), work.kind is NodeKind.CHECK) not in past.unknown:
            return
        said = f"It had started when run {past.run} was cut off, and was run again."
        row["comment"] = f"{row['comment']}\n{said}" if row["comment"] else said
        if work.kind is NodeKind.CHUNK and chunk.index in self._followed and row["result"] and not row["changes"]:
            row["changes"] = {"interrupted": "what it changed before it was cut off is unknown"}

    async def aggregate(self, members: tuple[int, ...]) -> None:
        """Fold the members of a group into common calls, if none of them has ended.

        If a common call has ended, the other members have their shares; those without a share run on their own.
        """
        chunks = [self._plan.chunks[index] for index in members]
        if not self._transactions.isdisjoint(members) or all(self._ended(chunk) is None for chunk in chunks):
            await self._inner.aggregate(members)


def _followed(plan: Plan) -> frozenset[int]:
    """Return the chunks whose changes others react to."""
    targets = [each.node for of in plan.requisites for each in of if each.kind.family in _FOLLOWING]
    targets += [member for node in plan.listeners for member in node.members]
    return frozenset(
        node
        for node in stands_for(plan, targets)
        if node < len(plan.chunks) and plan.chunks[node].state not in _HARMLESS
    )
