"""``asyncstate fleet cancel``: stops a run across hosts, of any operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import new_command, option
from asyncstate.extras.fleet.commands.completion import complete_runs
from asyncstate.extras.fleet.commands.connection import connection_options, operator_of

if TYPE_CHECKING:
    from asyncstate.cli.console import Console


@new_command(
    "cancel",
    examples=(("asyncstate fleet cancel 4be1", "The run whose ID begins so: hosts start no further states."),),
)
@click.argument("run", shell_complete=complete_runs)
@option("--now", section="Run", is_flag=True, help="Also cancel running states.")
@connection_options
def command(console: Console, /, run: str, *, now: bool, **options: Any) -> int:
    """Stop RUN: its hosts start no more states. RUN is an ID, or a unique beginning of one."""
    return console.run(lambda: _cancel(console, run, options, now=now))


async def _cancel(console: Console, run: str, options: dict[str, Any], *, now: bool) -> int:
    from asyncstate.errors import FleetError
    from asyncstate.extras.fleet.controller.records import find_record
    from asyncstate.extras.fleet.controller.sender import Sender

    board, signer = operator_of(options)
    async with board:
        record = await find_record(board, run)
        if record.ended is not None:
            raise FleetError(
                f"run {record.run} has ended, no host was told: `asyncstate fleet show {record.run}` shows it"
            )
        await Sender(board, signer, record.run).stop(record.hosts, "it was cancelled by fleet cancel", now=now)
    told = "1 host was" if len(record.hosts) == 1 else f"{len(record.hosts)} hosts were"
    console.lines([f"{record.run}: {told} told to stop"])
    return 0
