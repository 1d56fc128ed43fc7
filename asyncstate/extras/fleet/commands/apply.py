"""``asyncstate fleet apply``: a run across hosts, from its offer to its report. Signals need asyncio's loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import completes, new_command, option
from asyncstate.extras.fleet.commands.completion import complete_target
from asyncstate.extras.fleet.commands.connection import operator_of, optional_connection_options
from asyncstate.extras.fleet.commands.options import (
    RUN_FORMS,
    attending_options,
    compile_options,
    deadline_option,
    patience_option,
    run_options,
)
from asyncstate.extras.fleet.commands.over_ssh import require_one_way, root_options, session_of, way_options
from asyncstate.extras.fleet.commands.rollout import lanes_of, rollout_of, rollout_options

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.extras.fleet.board import Board
    from asyncstate.extras.fleet.commands.run_display import RunDisplay
    from asyncstate.extras.fleet.controller.controller import Request
    from asyncstate.extras.fleet.controller.event_stream import FleetEnd
    from asyncstate.extras.fleet.protocol import Signer
    from asyncstate.extras.fleet.ssh.session import Session


@new_command(
    "apply",
    forms=RUN_FORMS,
    examples=(
        ("asyncstate fleet apply --target '*'", "The highstate of all hosts, as one run."),
        ("asyncstate fleet apply web db --target 'G@role:db or web*' --test", "A dry run of two SLS on some hosts."),
    ),
)
@click.argument("sls", nargs=-1, metavar="[SLS]...", shell_complete=completes("sls"))
@option(
    "--target",
    section="Selection",
    required=True,
    metavar="EXPR",
    shell_complete=complete_target,
    help="Hosts, as a compound target of Salt: '*', web1, 'web*', L@a,b, 'G@role:db and not E@old.*', N@group.",
)
@compile_options
@option("--test/--no-test", section="Run", default=False, help="Dry run: show what would change, change nothing.")
@option(
    "-j", "--concurrency", section="Run", metavar="N", type=click.IntRange(min=1), help="States at once on each host."
)
@deadline_option()
@patience_option(", and the operator for lost hosts with --on-lost wait")
@option(
    "--on-lost",
    section="Run",
    type=click.Choice(["fail", "wait"]),
    default="fail",
    help="What to do with states that wait for a lost host: they fail (default), or wait for it.",
)
@rollout_options
@attending_options
@way_options
@root_options
@optional_connection_options
@run_options
def command(console: Console, /, sls: tuple[str, ...], **options: Any) -> int:
    """Bring many hosts into the state that their trees describe, as one run.

    Each host compiles its own part. A state may require states of other hosts: `- require: [{host: db1, service:
    postgresql}]`. Without SLS, each host applies its highstate. A host that does not answer is a failure with its name.
    Hosts have agents, and a server stands between (--creds, --nats); or they are reached over ssh (--ssh).
    """
    require_one_way(options, ("file_root", "pillar_root"))
    settings = console.settings(options)
    return console.run(lambda: _apply(console, settings, sls, options))


async def _apply(console: Console, settings: Settings, sls: tuple[str, ...], options: dict[str, Any]) -> int:
    from asyncstate.extras.fleet.commands.run_display import RunDisplay, shown_as
    from asyncstate.extras.fleet.controller.controller import Request
    from asyncstate.extras.fleet.protocol import Options

    request = Request(
        target=options["target"],
        sls=sls,
        options=Options(
            test=options["test"],
            concurrency=options["concurrency"],
            exclude=tuple(options["exclude"]),
            saltenv=options["saltenv"],
            pillar=options["pillar"] or {},
            on_lost=options["on_lost"],
            new_file_diff=console.shows_new_files(options["diffs"]),
        ),
        rollout=rollout_of(options, settings),
        deadline=options["deadline"],
        patience=options["patience"],
    )
    shown = RunDisplay(console, settings, **shown_as(options), lanes=lanes_of(options))
    if options["ssh"]:
        session = await session_of(console, settings, options)
        return await _run_over_ssh(settings, session, request, shown)
    board, signer = operator_of(options)
    return await run_across_hosts(settings, board, signer, request, shown)


async def _run_over_ssh(settings: Settings, session: Session, request: Request, shown: RunDisplay) -> int:
    from msgspec.structs import replace

    from asyncstate.extras.fleet.controller.event_stream import FleetEnd, HostEnd
    from asyncstate.extras.fleet.ssh.session import Unsigned

    async with session:
        absent = {host: HostEnd(2, why) for host, why in sorted(session.failed.items())}
        for host, host_end in absent.items():
            shown.ended(host, host_end)
        end = FleetEnd("over ssh", {})
        if session.hosts:
            named = replace(request, target=f"L@{','.join(session.hosts)}")
            end = await _driven(settings, session.board, Unsigned(), named, shown)
    return shown.end(replace(end, hosts=dict(sorted({**absent, **end.hosts}.items()))))


async def run_across_hosts(
    settings: Settings, board: Board, signer: Signer, request: Request, shown: RunDisplay
) -> int:
    """Do the run and show it; return the exit code. Raises BoardError, FleetError."""
    async with board:
        end = await _driven(settings, board, signer, request, shown)
    return shown.end(end)


async def _driven(settings: Settings, board: Board, signer: Signer, request: Request, shown: RunDisplay) -> FleetEnd:
    import os

    from asyncstate.extras.fleet.controller.controller import Controller

    controller = Controller(board, signer, os.urandom(8).hex(), request, shown, nodegroups=settings.nodegroups)
    with shown.following(controller):
        return await controller.drive()
