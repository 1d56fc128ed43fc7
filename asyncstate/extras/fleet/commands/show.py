"""``asyncstate fleet show``: the report of a run across hosts so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import new_command
from asyncstate.extras.fleet.commands.completion import complete_runs
from asyncstate.extras.fleet.commands.connection import connection_options, operator_of
from asyncstate.extras.fleet.commands.options import RUN_FORMS, run_options

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.config import Settings


@new_command(
    "show",
    forms=RUN_FORMS,
    examples=(("asyncstate fleet show 4be1", "The run whose ID begins so, host by host."),),
)
@click.argument("run", shell_complete=complete_runs)
@connection_options
@run_options
def command(console: Console, /, run: str, **options: Any) -> int:
    """Show what the hosts of RUN have reported so far. RUN is an ID, or a unique beginning of one.

    The exit code is 0, whatever that of the run was.
    """
    settings = console.settings(options)
    return console.run(lambda: _show(console, settings, run, options))


async def _show(console: Console, settings: Settings, run: str, options: dict[str, Any]) -> int:
    from asyncstate.errors import FleetError
    from asyncstate.extras.fleet.commands.run_display import RunDisplay
    from asyncstate.extras.fleet.controller.event_stream import FleetEnd, HostEnd, read_event_streams
    from asyncstate.extras.fleet.controller.records import find_record
    from asyncstate.extras.fleet.rollout.admission import described

    board, _ = operator_of(options)
    shown = RunDisplay(console, settings, report=options["report"])
    async with board:
        record = await find_record(board, run)
        if record.plans_only:
            raise FleetError(f"run {record.run} was for the plans of hosts only: nothing ran")
        ends = await read_event_streams(board, record.run, record.joined or record.hosts, shown)
    if said := described(record.rollout):
        shown.noted(f"Roll-out: {said}{f'; halted: {record.halted}' if record.halted else ''}")
    missing = {host: HostEnd(2, "has not reported its end") for host in record.hosts if host not in ends}
    for host, end in missing.items():
        shown.ended(host, end)
    shown.end(FleetEnd(record.run, dict(sorted({**ends, **missing}.items()))))
    return 0
