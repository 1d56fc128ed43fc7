"""``asyncstate bench``: where the time of a tree goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.cli.framework import new_command
from asyncstate.cli.plan import dry_run, parameters

if TYPE_CHECKING:
    from asyncstate.cli.console import Console

_OF_THE_REPORT = ("profile", "plan_out", "state_output", "diffs", "quiet_ok", "detailed_exitcode")
"""Options of ``plan`` that mean little without its report."""


@new_command(
    "bench",
    params=list(parameters(*_OF_THE_REPORT)),
    examples=(
        ("asyncstate bench", "The highstate of this machine, without a change."),
        ("asyncstate bench web -j 16", "One SLS file, with up to sixteen states at once."),
        ("asyncstate apply web --profile", "The same for a real run; replay --profile shows it for a past one."),
    ),
)
def command(console: Console, /, sls: tuple[str, ...], **options: Any) -> int:
    """Show where the time of a tree goes, and what would help: a dry run.

    Shows the times of the start, the grains, the pillar, rendering, compiling and the run, the functions and states
    that take longest, the critical path, and the waits for a slot. The last lines say what would help. The report of
    the dry run follows only if a state fails.
    """
    options |= {"profile": True, "bench": True, "quiet_ok": True}
    return dry_run(console, sls, options, "bench never changes anything. For a real run: asyncstate apply --profile")
