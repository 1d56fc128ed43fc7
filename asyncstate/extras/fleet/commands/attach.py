"""``asyncstate fleet attach``: takes over a run whose ``fleet apply`` ended before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import new_command
from asyncstate.extras.fleet.commands.completion import complete_runs
from asyncstate.extras.fleet.commands.connection import connection_options, operator_of
from asyncstate.extras.fleet.commands.options import RUN_FORMS, attending_options, run_options

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.config import Settings


@new_command(
    "attach",
    forms=RUN_FORMS,
    examples=(("asyncstate fleet attach 4be1", "Watch the run whose ID has this prefix, and show its report."),),
)
@click.argument("run", shell_complete=complete_runs)
@attending_options
@connection_options
@run_options
def command(console: Console, /, run: str, **options: Any) -> int:
    """Watch RUN again after its `fleet apply` was killed or lost its connection, and show its report.

    RUN is an ID, or a unique beginning of one. Hosts go on by themselves meanwhile. What they had
    reported is shown, too.
    """
    settings = console.settings(options)
    return console.run(lambda: _attach(console, settings, run, options))


async def _attach(console: Console, settings: Settings, run: str, options: dict[str, Any]) -> int:
    from asyncstate.errors import FleetError
    from asyncstate.extras.fleet.commands.run_display import RunDisplay, shown_as
    from asyncstate.extras.fleet.controller.controller import Controller, Request
    from asyncstate.extras.fleet.controller.records import find_record

    board, signer = operator_of(options)
    shown = RunDisplay(console, settings, **shown_as(options))
    async with board:
        record = await find_record(board, run)
        if record.plans_only:
            raise FleetError(f"run {record.run} was for the plans of hosts only: nothing ran")
        if record.ended is not None:
            raise FleetError(f"run {record.run} has ended: `asyncstate fleet show {record.run}` shows it")
        request = Request(
            target=record.target, sls=record.sls, options=record.options, patience=record.patience, deadline=10.0
        )
        controller = Controller(board, signer, record.run, request, shown, nodegroups=settings.nodegroups)
        with shown.following(controller):
            end = await controller.take_up(record)
    return shown.end(end)
