"""``asyncstate fleet status``: all hosts of the fleet, and whether each has an agent now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.cli.framework import new_command
from asyncstate.extras.fleet.commands.connection import connection_options, operator_of

if TYPE_CHECKING:
    from asyncstate.cli.console import Console


@new_command(
    "status",
    forms=("human", "json", "yaml"),
    examples=(("asyncstate fleet status", "All hosts that were ever there."),),
)
@connection_options
def command(console: Console, /, **options: Any) -> int:
    """List the hosts of the fleet: whether an agent is there now, and its version.

    An agent gives a sign of life every few seconds; this listens that long.
    """
    return console.run(lambda: _status(console, options))


async def _status(console: Console, options: dict[str, Any]) -> int:
    from asyncstate.extras.fleet.controller.records import host_infos, signs_of_life
    from asyncstate.report.terminal import one_line

    board, _ = operator_of(options)
    async with board:
        infos = await host_infos(board)
        there = await signs_of_life(board)
    if console.out != "human":
        console.data({host: {"there": host in there, "version": info.version} for host, info in sorted(infos.items())})
        return 0
    console.lines(
        [
            f"{host}: {'there' if host in there else 'away'}, version {one_line(info.version) or 'unknown'}"
            for host, info in sorted(infos.items())
        ]
    )
    if not infos:
        console.say("no host has ever been there")
    return 0
