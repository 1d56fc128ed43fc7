"""``asyncstate fleet agent``: lets this host take part in runs across hosts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.fleet.connection import connection_options
from asyncstate.cli.framework import Command, option
from asyncstate.cli.options import config_options, settings_from

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.fleet.credentials import Credentials


@click.command(
    "agent",
    cls=Command,
    examples=(
        (
            "asyncstate fleet agent --id db1 --creds db1.creds --nats tls://fleet.example.com:4222",
            "Take part in the runs that operators offer to db1.",
        ),
    ),
)
@option("--id", "id_", section="Run", metavar="HOST", help="Name of this host. Default: that of its credentials.")
@connection_options
@option(
    "--allow-sls",
    section="Run",
    multiple=True,
    metavar="GLOB",
    help="Take part in runs of SLS that fit only; repeatable. Default: all.",
)
@option(
    "--allow-function",
    "allow_functions",
    section="Run",
    multiple=True,
    metavar="GLOB",
    help="Run plans only whose functions all fit, file.* for example, and call only functions that do; repeatable. "
    "Default: all.",
)
@option("--deny-test-false", section="Run", is_flag=True, help="Take part in dry runs only.")
@config_options
@click.pass_obj
def command(console: Console, /, id_: str | None, **options: Any) -> int:
    """Wait for runs that operators offer to this host, and take part in them. In the foreground; SIGTERM ends it.

    A run that was under way when the agent ended goes on when it is started again. The pillar and the arguments of
    states do not leave this host.
    """
    from asyncstate.cli.event_loop import run_on
    from asyncstate.cli.interrupts import Interrupted
    from asyncstate.fleet import credentials

    own = credentials.read(options["creds"])
    if own.role != credentials.HOST:
        raise click.UsageError(f"{options['creds']} is an operator's. `asyncstate fleet enroll` makes those of a host.")
    if id_ not in (None, own.name):
        raise click.UsageError(f"{options['creds']} are the credentials of {own.name}, not of {id_}")
    settings = settings_from(console, options)
    settings.id = own.name
    try:
        return run_on("asyncio", lambda: _serve(console, settings, own, options))
    except Interrupted:
        return 0


async def _serve(console: Console, settings: Settings, own: Credentials, options: dict[str, Any]) -> int:
    from asyncstate.fleet.agent import Agent
    from asyncstate.fleet.events import HostEvents
    from asyncstate.fleet.local_station import Gate, LocalStation, RunFiles
    from asyncstate.fleet.nats.board import NatsBoard
    from asyncstate.fleet.policy import Policy
    from asyncstate.fleet.signing import OperatorVerifier

    policy = Policy(
        allow_sls=options["allow_sls"] or None,
        allow_functions=options["allow_functions"] or None,
        deny_test_false=options["deny_test_false"],
    )
    files = RunFiles(settings.state_dir, own.name)
    with files.held():
        gate = Gate(files, policy, enrolled=own.since, wall=time.time)
        board = NatsBoard(options["nats"], own)
        agent = Agent(
            board,
            own.name,
            LocalStation(settings, HostEvents(board, own.name)),
            files,
            OperatorVerifier(own.operators),
            accept=gate.accept,
            allow=gate.allow,
            ready=lambda: console.lines([f"ready {own.name}"]),
        )
        await agent.serve()
    return 0
