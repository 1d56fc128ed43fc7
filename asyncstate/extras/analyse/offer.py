"""What the engine and other extras ask of this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from asyncstate.errors import Issue
    from asyncstate.extras.analyse.lint import Finding
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan


class Analysis:
    """The findings of lint. The parts are imported when they are asked for."""

    @staticmethod
    def findings(plan: Plan, **options: Any) -> list[Finding]:
        """Return the findings of lint in a tree: see `asyncstate.extras.analyse.tree_findings`."""
        from asyncstate.extras.analyse.tree_findings import tree_findings

        return tree_findings(plan, **options)

    @staticmethod
    def as_findings(issues: Iterable[Issue]) -> list[Finding]:
        """Return warnings of the compiler as findings of lint."""
        from asyncstate.extras.analyse.lint import Finding

        return list(map(Finding.of, issues))

    @staticmethod
    def one_for_each_place(findings: Sequence[Finding]) -> list[Finding]:
        """Keep the first of the findings with the same rule and place."""
        from asyncstate.extras.analyse.lint import one_for_each_place

        return one_for_each_place(findings)

    @staticmethod
    def requisite_hint(plan: Plan, chunk: LowChunk, missing: LowChunk) -> str:
        """Return the requisite by which a state requires another one, as SLS text; "" if none can express it."""
        from asyncstate.extras.analyse.lint import requisite_hint

        return requisite_hint(plan, chunk, missing)

    @staticmethod
    def with_requisite(plan: Plan, finding: Finding, read: Any) -> str:
        """Return the text of a file with the requisite that a finding misses."""
        from asyncstate.extras.analyse.patch import with_requisite

        return with_requisite(plan, finding, read)


ANALYSIS = Analysis()
