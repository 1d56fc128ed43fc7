"""``asyncstate fleet runs``: the runs across hosts that the server keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.cli.framework import new_command
from asyncstate.extras.fleet.commands.connection import connection_options, operator_of

if TYPE_CHECKING:
    from asyncstate.cli.console import Console


@new_command(
    "runs", forms=("human", "json", "yaml"), examples=(("asyncstate fleet runs", "All runs that the server keeps."),)
)
@connection_options
def command(console: Console, /, **options: Any) -> int:
    """List the runs across hosts, newest first: when, what, on how many hosts, by whom, how it ended."""
    return console.run(lambda: _list(console, options))


async def _list(console: Console, options: dict[str, Any]) -> int:
    import msgspec

    from asyncstate.extras.fleet.controller.records import run_records
    from asyncstate.extras.fleet.rollout.admission import described
    from asyncstate.report.terminal import count, date_and_time

    board, _ = operator_of(options)
    async with board:
        records = await run_records(board)
    if console.out != "human":
        console.data([msgspec.to_builtins(record) for record in records])
        return 0
    for record in records:
        begun = date_and_time(record.begun)
        ended = "not ended" if record.exit_code is None else f"exit code {record.exit_code}"
        what = record.function or ", ".join(record.sls) or "highstate"
        dry = " (plans only)" if record.plans_only else " (dry run)" if record.options.test else ""
        rollout = f", {said}" if (said := described(record.rollout)) else ""
        where = f"on {count(len(record.hosts), 'host')} ({record.target}{rollout})"
        halted = f"; halted: {record.halted}" if record.halted else ""
        by = f", by {record.by}" if record.by else ""
        console.lines([f"{record.run}  {begun}  {what}{dry} {where}{by}: {ended}{halted}"])
    if not records:
        console.say("no runs yet")
    return 0
