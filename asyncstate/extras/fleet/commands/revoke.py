"""``asyncstate fleet revoke``: withdraws a host's right to connect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from asyncstate.cli.framework import new_command, option
from asyncstate.extras.fleet.commands.completion import complete_enrolled

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.extras.fleet.nats.folder import Folder


@new_command(
    "revoke",
    examples=(("asyncstate fleet revoke db1 --dir /srv/fleet", "The server forgets db1's key, and cuts it off."),),
)
@click.argument("host", shell_complete=complete_enrolled)
@option("--dir", "folder", section="Run", required=True, metavar="DIR", help="The folder of `asyncstate fleet up`.")
def command(console: Console, /, host: str, folder: str) -> None:
    """Revoke HOST's key, and delete what HOST wrote: its reports, events and log, too.

    It is cut off at once if the server runs on this machine.
    """
    from asyncstate.extras.fleet.nats.folder import Folder

    place = Folder(folder)
    place.revoke(host)
    freed = console.run(lambda: _forget(place, host))
    if freed is None:
        after = f" once the server has read {place.within('accounts.conf')}"
        after += f". Then remove what it wrote: `asyncstate fleet prune --host {host}`"
    else:
        after = f"; {freed} of it were removed from the server"
    console.lines([f"{host}: its credentials no longer work{after}"])


async def _forget(folder: Folder, host: str) -> str | None:
    """Tell a running server, and remove the host's entries, so that no target finds it. Return the bytes removed."""
    from asyncstate.extras.fleet import subjects
    from asyncstate.extras.fleet.commands.prune import size, used
    from asyncstate.extras.fleet.nats.board import NatsBoard
    from asyncstate.extras.fleet.nats.server import reload

    if not await reload(folder):
        return None
    async with NatsBoard(folder.server_url(), folder.operator()) as board:
        before = used(await board.room())
        await board.forget(*subjects.of_host(host))
        return size(before - used(await board.room()))
