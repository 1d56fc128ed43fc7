"""What the engine and other extras ask of this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from asyncstate.errors import Issue
    from asyncstate.extras.analyse.lint import Finding
    from asyncstate.extras.analyse.profile import Profile
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.report.terminal import Palette


class Analysis:
    """The findings of lint, and the times of runs. The parts are imported when they are asked for."""

    @staticmethod
    def findings(plan: Plan, **options: Any) -> list[Finding]:
        """Return the findings of lint in a tree: see `asyncstate.extras.analyse.tree_findings`."""
        from asyncstate.extras.analyse.tree_findings import tree_findings

        return tree_findings(plan, **options)

    @staticmethod
    def profile(process_start: float = 0.0) -> Profile:
        """Return what collects the events of a run: see `asyncstate.extras.analyse.profile`."""
        from asyncstate.extras.analyse.profile import Profile

        return Profile(process_start)

    @staticmethod
    def profile_lines(profile: Profile, palette: Palette) -> Iterator[str]:
        """Yield the times of a run, for ``--profile``."""
        from asyncstate.extras.analyse.profile import profile_lines

        return profile_lines(profile, palette)

    @staticmethod
    def run_lines(profile: Profile, palette: Palette, held: Mapping[str, str]) -> Iterator[str]:
        """Yield the reason for the start time of each state, for ``--explain``. ``held`` says why some did not run."""
        from asyncstate.extras.analyse.reasons import run_lines

        return run_lines(profile, palette, held)

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
