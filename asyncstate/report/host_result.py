"""What programs are told of a run: how it ended on each host. Annotations, JUnit files, metrics are made from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from asyncstate.model.result import RunReport

if TYPE_CHECKING:
    from asyncstate.model.plan import Plan


class HostResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended on a host. ``host`` is "" if the run was of this machine alone.

    ``places`` are file and line of states, by tag, ``held`` is why some were held back (`asyncstate.report.held`).
    ``problem`` says why a host failed whose report does not say it: it did not answer, or it was lost.
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
        """Whether all went well."""
        return self.report.ok and not self.problem

    @property
    def uneventful(self) -> bool:
        """Whether nothing changed (in a dry run: would change) or failed, not even what a handler made good."""
        rows = self.report.rows.values()
        return self.ok and not self.report.changed and all(row["result"] is not False for row in rows)


def places_of(plan: Plan | None, tags: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Return file and line of these states, by tag; a line is 0 if it is not known. A line costs a look at a file."""
    wanted = set(tags)
    chunks = plan.chunks if plan and wanted else ()
    return {chunk.tag: (chunk.file, chunk.line) for chunk in chunks if chunk.file and chunk.tag in wanted}
