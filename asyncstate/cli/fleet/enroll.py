"""``asyncstate fleet enroll``: credentials for one host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from asyncstate.cli.fleet.completion import complete_enrolled
from asyncstate.cli.framework import Command, option

if TYPE_CHECKING:
    from asyncstate.cli.console import Console


@click.command(
    "enroll",
    cls=Command,
    examples=(
        (
            "asyncstate fleet enroll db1 --dir /srv/fleet --out db1.creds",
            "Credentials for db1: copy them there. Once more, and the former are no longer good.",
        ),
    ),
)
@click.argument("host", shell_complete=complete_enrolled)
@option("--dir", "folder", section="Run", required=True, metavar="DIR", help="The folder of `asyncstate fleet up`.")
@option("--out", "path", section="Output", required=True, metavar="FILE", help="Where to write the credentials.")
@click.pass_obj
def command(console: Console, /, host: str, folder: str, path: str) -> int:
    """Make a key for HOST, allow it to connect, and write its credentials to FILE, for its owner only.

    It takes effect at once if the server runs on this machine. A host that was enrolled before gets a new key, and its
    former credentials no longer work.
    """
    from asyncstate.cli.event_loop import run_on
    from asyncstate.fleet import credentials
    from asyncstate.fleet.nats.folder import Folder
    from asyncstate.fleet.nats.server import reload

    place = Folder(folder)
    place.settings()
    credentials.require_writable(path)
    credentials.write(path, place.enrol(host))
    running = run_on("asyncio", lambda: reload(place))
    console.lines([f"{host}: credentials in {path}" + ("" if running else "; no server runs here, it will know them")])
    return 0
