"""TracedDispatch: runs chunks as another dispatch does, and records what each of them touches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from asyncstate.dunders.context import observer
from asyncstate.errors import Issue
from asyncstate.extras.proof.trace.following import Strace, left_running
from asyncstate.extras.proof.trace.learning import Learning
from asyncstate.extras.proof.trace.report import find_races, race_issues
from asyncstate.extras.proof.trace.witness import Trace
from asyncstate.model.plan import NodeKind
from asyncstate.run.delegating_dispatch import DelegatingDispatch
from asyncstate.run.dispatch import Findings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row
    from asyncstate.run.assembly import Parts
    from asyncstate.run.dispatch import Dispatch
    from asyncstate.run.machine import Work


Keep = Callable[["Trace", set[int]], Sequence[Issue]]
"""Keeps a trace, given the chunks that succeeded with changes; returns warnings about failures."""


def _still_followed() -> list[Issue]:
    left = left_running()
    if not left:
        return []
    programs = "a program that a state started" if left == 1 else f"{left} programs that states started"
    return [
        Issue(
            f"strace still follows {programs} in the background",
            hint="restart daemons that are to stay: under strace they are slow, and end with it",
        )
    ]


def traced_run(plan: Plan, inner: Dispatch, parts: Parts) -> TracedDispatch:
    """Return the dispatch of a run under observation, without the program's own paths; it keeps the trace."""
    settings, host = parts.settings, parts.host
    keep = Learning(plan, host, parts.secrets, settings.state_dir).keep
    return traced(plan, inner, own=(settings.cachedir, settings.state_dir, *host.plugin_paths()), keep=keep)


def traced(plan: Plan, inner: Dispatch, *, own: Sequence[str], keep: Keep) -> TracedDispatch:
    """Return ``inner`` under observation. Raises ConfigError if strace is missing or may not follow programs.

    ``own`` are folders of this program, which no states share.
    """
    return TracedDispatch(plan, inner, Trace(Strace(), own), keep)


class TracedDispatch(DelegatingDispatch):
    """Another dispatch under observation. Its warnings name the races found."""

    def __init__(self, plan: Plan, inner: Dispatch, trace: Trace, keep: Keep) -> None:
        super().__init__(inner)
        self._plan = plan
        self._trace = trace
        self._keep = keep
        self._worked: set[int] = set()

    async def run_chunk(self, work: Work, chunk: LowChunk) -> Row:
        """Run a chunk under observation."""
        with self._watching(work.node):
            row = await self._inner.run_chunk(work, chunk)
        if work.kind is NodeKind.CHUNK and row["result"] is True and row["changes"]:
            self._worked.add(work.chunk)
        return row

    async def aggregate(self, members: tuple[int, ...]) -> None:
        """Fold the members of a group: accesses of their module count as the first member's."""
        with self._watching(members[0]):
            await self._inner.aggregate(members)

    @contextmanager
    def _watching(self, node: int) -> Iterator[None]:
        before = observer.set(self._trace.of(node))
        try:
            yield
        finally:
            observer.reset(before)

    def findings(self) -> Findings:
        """Return the findings of the run, with its races. Keeps the trace, too."""
        found = self._inner.findings()
        races = find_races(self._plan, *self._trace.seen_by_others())
        lost = self._keep(self._trace, self._worked)
        return Findings(found.notices, [*found.warnings, *race_issues(races), *lost, *_still_followed()], races)
