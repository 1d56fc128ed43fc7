"""``asyncstate fleet agent``: lets this host take part in runs across hosts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import new_command, option
from asyncstate.cli.options import config_options
from asyncstate.extras.fleet.commands.connection import connection_options

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.extras.fleet.credentials import Credentials


def _print_unit(ctx: click.Context, _param: click.Parameter, wanted: Any) -> None:
    if not wanted:
        return
    import os
    import sys
    from importlib.resources import files

    beside = os.path.join(os.path.dirname(sys.executable), "asyncstate")
    program = beside if os.access(beside, os.X_OK) else f"{sys.executable} -P -m asyncstate"
    unit = (files("asyncstate.extras.fleet") / "asyncstate-agent.service").read_text()
    ctx.obj.write(unit.replace("/usr/bin/asyncstate", program))
    ctx.exit()


@new_command(
    "agent",
    examples=(
        (
            "asyncstate fleet agent --id db1 --creds db1.creds --nats tls://fleet.example.com:4222",
            "Take part in the runs that operators offer to db1.",
        ),
        (
            "asyncstate fleet agent --print-unit > /etc/systemd/system/asyncstate-agent.service",
            "Let systemd run it: credentials in /etc/asyncstate/agent.creds, the address in agent.env beside it.",
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
    help="Render only SLS files whose names match; repeatable. Default: allow_sls of fleet_policy in the "
    "configuration, else all.",
)
@option(
    "--allow-function",
    "allow_functions",
    section="Run",
    multiple=True,
    metavar="GLOB",
    help="Run only plans whose functions all match, such as file.*, and call only matching functions; repeatable. "
    "Default: allow_functions of fleet_policy, else all.",
)
@option(
    "--fleet-log",
    section="Run",
    type=click.Choice(["debug", "info", "warning", "error", "quiet"]),
    default="info",
    metavar="LEVEL",
    help="Send log messages of at least this level to the server, for `asyncstate fleet logs`: debug, info (default), "
    "warning, error; quiet: none.",
)
@option(
    "--print-unit",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_unit,
    help="Print a systemd unit for the agent and exit.",
)
@option("--deny-test-false", section="Run", is_flag=True, help="Take part in dry runs only.")
@config_options
def command(console: Console, /, id_: str | None, **options: Any) -> int:
    """Run the agent of this host, which takes part in runs that operators offer. In the foreground; SIGTERM ends it.

    A run that was under way when the agent ended goes on when it is started again. The pillar and the arguments of
    states do not leave this host, but for what of them is in names, comments, changes, output and events of states.
    """
    from asyncstate.extras.fleet import credentials

    own = credentials.read(options["creds"])
    if own.role != credentials.HOST:
        raise click.UsageError(
            f"{options['creds']} is an operator's. `asyncstate fleet enroll` makes credentials for a host."
        )
    if id_ not in (None, own.name):
        raise click.UsageError(f"{options['creds']} are the credentials of {own.name}, not of {id_}")
    settings = console.settings(options)
    settings.id = own.name
    return console.run(lambda: _serve(console, settings, own, options), on_signal=0)


async def _serve(console: Console, settings: Settings, own: Credentials, options: dict[str, Any]) -> int:
    import os

    from asyncstate.extras.fleet.events import HostEvents
    from asyncstate.extras.fleet.host.agent import Agent
    from asyncstate.extras.fleet.host.local_station import Gate, LocalStation, RunFiles
    from asyncstate.extras.fleet.logbook import Logbook
    from asyncstate.extras.fleet.nats.board import NatsBoard
    from asyncstate.extras.fleet.policy import policy_of
    from asyncstate.extras.fleet.readiness import tell_ready
    from asyncstate.extras.fleet.settings import FleetSettings
    from asyncstate.extras.fleet.signing import OperatorVerifier
    from asyncstate.services import Embedding

    given = settings.of(FleetSettings).fleet_policy | _policy_options(options)
    allowed = policy_of(given, settings)
    logbook = Logbook(own.name, os.urandom(8).hex())

    def ready() -> None:
        console.lines([f"ready {own.name}"])
        tell_ready()

    if options["fleet_log"] != "quiet":
        console.also_log_to(logbook, options["fleet_log"])
    files = RunFiles(settings.state_dir, own.name)
    with files.held():
        gate = Gate(files, allowed, enrolled=own.since, wall=time.time)
        board = NatsBoard(options["nats"], own, patient=True)
        agent = Agent(
            board,
            own.name,
            LocalStation(settings, Embedding(events=HostEvents(board, own.name)), allowed),
            files,
            OperatorVerifier(own.operators),
            accept=gate.accept,
            allow=gate.allow,
            ready=ready,
            beside=[logbook.send],
        )
        await agent.serve()
    return 0


def _policy_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of ``fleet_policy`` that options replace."""
    given = {"allow_sls": list(options["allow_sls"]), "allow_functions": list(options["allow_functions"])}
    given["deny_test_false"] = options["deny_test_false"]
    return {name: value for name, value in given.items() if value}
