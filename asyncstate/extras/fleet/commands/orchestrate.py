"""``asyncstate fleet orchestrate``: runs an orchestration, whose steps are runs across the hosts of a fleet."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from asyncstate.cli.framework import completes, new_command, option
from asyncstate.cli.options import concurrency_option, one_run_options, part_options
from asyncstate.extras.fleet.commands.completion import complete_target
from asyncstate.extras.fleet.commands.connection import operator_of, optional_connection_options
from asyncstate.extras.fleet.commands.options import deadline_option, patience_option
from asyncstate.extras.fleet.commands.over_ssh import require_one_way, session_of, way_options
from asyncstate.extras.fleet.controller.event_stream import Observer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from asyncstate.cli.console import Console
    from asyncstate.extras.fleet.board import Board
    from asyncstate.extras.fleet.controller.event_stream import HostEnd
    from asyncstate.extras.fleet.protocol import Signer
    from asyncstate.model.plan import Plan
    from asyncstate.runtime import StateRuntime
    from asyncstate.services import Embedding

_STEPS: Final = 64
"""The default number of concurrent steps: they only wait for hosts."""


@new_command(
    "orchestrate",
    examples=(
        ("asyncstate fleet orchestrate orch.deploy", "The steps of orch/deploy.sls, on the hosts that each one names."),
        ("asyncstate fleet orchestrate orch.deploy --test", "A dry run: hosts show what would change."),
        ("asyncstate explain database orch.deploy", "What a step waits for, and why: without the hosts."),
        ("asyncstate fleet orchestrate orch.deploy --pillar '{version: 1.4}'", "With pillar data for its templates."),
    ),
)
@click.argument("sls", nargs=-1, required=True, shell_complete=completes("sls"))
@part_options
@optional_connection_options
@way_options
@option(
    "--target",
    section="Selection",
    metavar="EXPR",
    shell_complete=complete_target,
    help="With --ssh: the hosts of the roster to reach. Default: all.",
)
@one_run_options
@concurrency_option(f"Number of steps at once, where their order allows it. Default: {_STEPS}.")
@option(
    "--failhard",
    section="Run",
    is_flag=True,
    default=None,
    help="Start no more steps after one has failed; those under way finish.",
)
@option(
    "--timeout",
    section="Run",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="Cancel the orchestration after this time and exit with 124.",
)
@deadline_option(", in steps without a timeout")
@patience_option()
def command(console: Console, /, sls: tuple[str, ...], **options: Any) -> int:
    """Run an orchestration: steps of `salt.state`, `salt.function` and others, each on hosts of its own.

    The SLS come from the tree of this machine, what the steps apply from the tree of each host. Steps run one after
    another, in the order of the file, as in Salt; later steps do not wait for one with `parallel: True`. With
    --implicit-order none, requisites alone order the steps. `asyncstate explain STEP SLS` says what a step waits for.
    Hosts have agents (--creds, --nats), or are reached over ssh (--ssh): then what the steps apply is of the tree of
    this machine, too.
    """
    from asyncstate.cli.session import Session

    require_one_way(options, ("target",))
    settings, selection = console.selected(sls, options)
    if options["concurrency"] is None:
        settings.concurrency = _STEPS
    if options["implicit_order"] is None:
        settings.implicit_order = "file"
    settings.new_file_diff |= console.shows_new_files(options["diffs"])

    def around(board: Board, signer: Signer, absent: Mapping[str, str]) -> Embedding:
        from asyncstate.extras.fleet.orchestration.orchestra import Limits, Orchestra

        hosts = Orchestra(
            board,
            signer,
            settings,
            console.secrets,
            limits=Limits(deadline=options["deadline"], patience=options["patience"]),
            observe=lambda run, function: Said(console, f"{function} ({run})"),
            absent=absent,
        )
        return hosts.embedding()

    @asynccontextmanager
    async def with_agents() -> AsyncIterator[Embedding]:
        board, signer = operator_of(options)
        async with board:
            yield around(board, signer, {})

    @asynccontextmanager
    async def over_ssh() -> AsyncIterator[Embedding]:
        from asyncstate.extras.fleet.ssh.session import Unsigned

        async with await session_of(console, settings, {**options, "target": options["target"] or "*"}) as session:
            console.say(*(f"{host}: {why}" for host, why in sorted(session.failed.items())))
            yield around(session.board, Unsigned(), session.failed)

    async def compile_tree(runtime: StateRuntime) -> Plan:
        return await runtime.compile(**selection._asdict())

    about = {
        "command": "fleet orchestrate",
        **selection.given(),
    }
    hosts = over_ssh if options["ssh"] else with_agents
    return Session(console, settings, options).run_planned(compile_tree, about, hosts)


class Said(Observer):
    """Prints failures on hosts while a step runs."""

    def __init__(self, console: Console, step: str) -> None:
        self._console = console
        self._step = step

    def lost(self, host: str, seconds: float) -> None:
        """Say that a host is lost."""
        from asyncstate.report.terminal import short_time

        self._console.say(f"{self._step}: {host} is lost: there was no sign of it for {short_time(seconds)}")

    def ended(self, host: str, end: HostEnd) -> None:
        """Say why the part of a host has no report."""
        if end.why:
            from asyncstate.extras.fleet.commands.run_display import of_host

            self._console.say(f"{self._step}: {of_host(host, end.why)}")
