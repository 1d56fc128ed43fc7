"""The result of a run on a host: the source of annotations, JUnit files and metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from asyncstate.model.result import RunReport

if TYPE_CHECKING:
    from asyncstate.model.plan import Plan


class HostResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run on a host. ``host`` is "" if the run concerned this machine alone.

    ``places`` are file and line of states, by tag; ``held`` are the reasons why states were held back, by tag
    (`asyncstate.report.blockers`). ``problem`` is a failure outside the report: the host did not answer, or was lost.
    """

    report: RunReport
    places: Mapping[str, tuple[str, int]] = {}
    held: Mapping[str, str] = {}
    host: str = ""
    problem: str = ""

    def place(self, tag: str) -> tuple[str, int]:
        """Return file and line of a state, "" and 0 if they are not known."""
        return self.places.get(tag, ("", 0))

    @property
    def ok(self) -> bool:
        """Whether the run succeeded on this host."""
        return self.report.ok and not self.problem

    @property
    def uneventful(self) -> bool:
        """Whether nothing changed (in a dry run: would change) and nothing failed, handled failures included."""
        rows = self.report.rows.values()
        return self.ok and not self.report.changed and all(row["result"] is not False for row in rows)


def places_of(plan: Plan | None, tags: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Return file and line of these states, by tag; an unknown line is 0. Finding a line reads its file."""
    wanted = set(tags)
    chunks = plan.chunks if plan and wanted else ()
    return {chunk.tag: (chunk.file, chunk.line) for chunk in chunks if chunk.file and chunk.tag in wanted}
