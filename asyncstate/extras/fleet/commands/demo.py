"""``asyncstate fleet demo``: a fleet of three hosts on this machine, and a run across them."""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from asyncstate.cli.framework import new_command, option
from asyncstate.extras.fleet.commands.options import progress_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.cli.console import Console
    from asyncstate.extras.fleet.demo import DemoFleet


@new_command(
    "demo",
    examples=(
        ("asyncstate fleet demo", "A fleet in a temporary folder."),
        ("asyncstate fleet demo --dir /tmp/fleet --stay", "One that stays: look at its trees, change them, apply."),
    ),
)
@option(
    "--dir",
    "folder",
    section="Run",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Folder for all its files. Default: a temporary folder, which is removed at the end.",
)
@option(
    "--stay/--no-stay",
    section="Run",
    default=None,
    help="Keep the fleet running until Ctrl-C. Default: if standard output is a terminal.",
)
@progress_option
def command(console: Console, /, folder: str | None, *, stay: bool | None, progress: str) -> int:
    """Start a server and three agents on this machine, and apply a tree to them as one run.

    The load balancer (lb1) requires the application (app1), which requires the database (db1) and watches its
    configuration. Each agent is a process with a tree and folders of its own; the server listens on 127.0.0.1 only.
    Needs no root. Ctrl-C ends all.
    """
    from asyncstate import residue

    stays = sys.stdout is not None and sys.stdout.isatty() if stay is None else stay
    with nullcontext(folder) if folder else residue.temporary_folder("asyncstate-fleet-") as place:
        return console.run(lambda: _demo(console, place, progress, stays=stays), on_signal=0)


async def _demo(console: Console, folder: str, progress: str, *, stays: bool) -> int:
    import anyio

    from asyncstate.config import Settings
    from asyncstate.extras.fleet.commands.apply import run_across_hosts
    from asyncstate.extras.fleet.commands.run_display import RunDisplay
    from asyncstate.extras.fleet.controller.controller import Request
    from asyncstate.extras.fleet.demo import HOSTS, DemoFleet
    from asyncstate.extras.fleet.nats.board import NatsBoard
    from asyncstate.extras.fleet.nats.folder import with_free_port
    from asyncstate.extras.fleet.signing import OperatorSigner

    fleet = DemoFleet(folder)
    console.lines([f"Starting a server and the agents of {', '.join(HOSTS)} in {fleet.path}"])
    async with fleet.running(with_free_port("127.0.0.1:0")):
        console.lines(["Running: asyncstate fleet apply --target '*'"])
        operator = fleet.server.operator()
        settings = Settings(state_output="terse")
        shown = RunDisplay(console, settings, progress=progress)
        board, signer = NatsBoard(fleet.url, operator), OperatorSigner(operator.signs)
        code = await run_across_hosts(settings, board, signer, Request(target="*"), shown)
        if stays:
            console.lines(_next_steps(fleet))
            await anyio.sleep_forever()
    if not stays and not code:
        console.lines(["", "Next: asyncstate fleet demo --stay. Its fleet stays, and a second apply changes nothing."])
    return code


def _next_steps(fleet: DemoFleet) -> Iterator[str]:
    """Yield commands to try while the fleet runs."""
    yield ""
    yield "The fleet stays until Ctrl-C. In another terminal:"
    yield f"  export ASYNCSTATE_FLEET_CREDS={shlex.quote(fleet.operator_creds)} ASYNCSTATE_FLEET_NATS={fleet.url}"
    yield "  asyncstate fleet apply --target '*'                           # nothing changes"
    yield "  asyncstate fleet apply --target '*' --pillar '{port: 5433}'   # a change goes through all hosts"
    yield "  asyncstate fleet status"
    yield f"Its trees: {fleet.path}/*/tree"
