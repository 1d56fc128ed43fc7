"""``asyncstate fleet graph``: the joined graph of many hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate import extend
from asyncstate.cli.framework import completes, new_command, option
from asyncstate.extras.fleet.commands.completion import complete_runs, complete_target
from asyncstate.extras.fleet.commands.connection import connection_options, operator_of
from asyncstate.extras.fleet.commands.options import compile_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.extras.fleet.protocol import Go, HostPlan


_PICTURES: Any = extend.provided("pictures", "fleet graph")
_picture_options: Callable[[Any], Any] = _PICTURES.options


@new_command(
    "graph",
    examples=(
        ("asyncstate fleet graph --target '*' --format html --output fleet.html", "The joined graph of all hosts."),
        ("asyncstate fleet graph --run 4f2a --format mermaid", "That of a run that was, to paste into Markdown."),
    ),
)
@click.argument("sls", nargs=-1, metavar="[SLS]...", shell_complete=completes("sls"))
@option(
    "--target",
    section="Selection",
    metavar="EXPR",
    shell_complete=complete_target,
    help="Hosts, as in `fleet apply`. Nothing runs on them.",
)
@option(
    "--run",
    section="Selection",
    metavar="RUN",
    shell_complete=complete_runs,
    help="Past run with this ID or prefix of an ID, instead of --target.",
)
@compile_options
@_picture_options
@connection_options
def command(console: Console, /, sls: tuple[str, ...], **options: Any) -> None:
    """Show which states of many hosts wait for which.

    Each host compiles its part and sends what others may know of it. Red lines go from host to host; what the other
    lines mean, `asyncstate show graph --help` says.
    """
    from asyncstate.extras.fleet.report.graph import graph_data, picture_of

    if bool(options["run"]) == bool(options["target"]):
        raise click.UsageError("the graph needs hosts (--target) or a run that was (--run)")
    if options["run"]:
        plans, goes = console.run(lambda: _of_run(options))
    else:
        settings = console.settings(options)
        plans, goes = console.run(lambda: _of_hosts(console, settings, sls, options))
    _PICTURES.show(
        console,
        options,
        lambda: picture_of(plans, goes),
        "plans of all hosts",
        lambda every_edge: graph_data(plans, goes, every_edge=every_edge),
    )


async def _of_run(options: dict[str, Any]) -> tuple[Mapping[str, HostPlan], Mapping[str, Go]]:
    from asyncstate.extras.fleet.controller.records import find_record, joined_plans

    board, signer = operator_of(options)
    async with board:
        record = await find_record(board, options["run"])
        return await joined_plans(board, signer, record.run)


async def _of_hosts(
    console: Console, settings: Settings, sls: tuple[str, ...], options: dict[str, Any]
) -> tuple[Mapping[str, HostPlan], Mapping[str, Go]]:
    """Offer a dry run that ends once the plans are joined."""
    import os

    from asyncstate.errors import CompileError, FleetError
    from asyncstate.extras.fleet.controller.controller import Controller, Request
    from asyncstate.extras.fleet.controller.event_stream import Observer
    from asyncstate.extras.fleet.protocol import Options

    class Joined(Observer):
        plans: Mapping[str, HostPlan] = {}
        goes: Mapping[str, Go] = {}

        def joined(self, plans: Mapping[str, HostPlan], goes: Mapping[str, Go]) -> None:
            self.plans, self.goes = plans, goes

    board, signer = operator_of(options)
    request = Request(
        target=options["target"],
        sls=sls,
        options=Options(
            test=True, exclude=options["exclude"], saltenv=options["saltenv"], pillar=options["pillar"] or {}
        ),
        plans_only=True,
    )
    joined = Joined()
    async with board:
        controller = Controller(board, signer, os.urandom(8).hex(), request, joined, nodegroups=settings.nodegroups)
        end = await controller.drive()
    if end.issues:
        raise CompileError(list(end.issues))
    for host, each in end.hosts.items():
        if each.why:
            console.complain(f"{host} is not in the graph: {each.why}")
    if not joined.goes:
        raise FleetError("no host has a plan")
    return joined.plans, joined.goes
