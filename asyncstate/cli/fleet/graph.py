"""The joined graph of many hosts, for ``asyncstate show graph --fleet``. Not a command of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.fleet.connection import operator_of, require_connection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.cli.console import Console
    from asyncstate.cli.selection import Selection
    from asyncstate.config import Settings
    from asyncstate.fleet.protocol import Go, HostPlan


def joined(
    console: Console, settings: Settings, selection: Selection, options: dict[str, Any]
) -> tuple[Mapping[str, HostPlan], Mapping[str, Go]]:
    """Return the plans of the hosts that ``--target`` names, or of the run that ``--run`` names, and how they join.

    Raises UsageError, CompileError if the plans do not fit together, FleetError.
    """
    from asyncstate.cli.event_loop import run_on

    require_connection(options)
    if bool(options["run"]) == bool(options["target"]):
        raise click.UsageError("--fleet needs hosts (--target) or a run that was (--run)")
    if selection.ids:
        raise click.UsageError("--id selects states of this machine only: not with --fleet")
    if options["run"]:
        return run_on("asyncio", lambda: _of_run(options))
    return run_on("asyncio", lambda: _of_hosts(console, settings, selection, options))


async def _of_run(options: dict[str, Any]) -> tuple[Mapping[str, HostPlan], Mapping[str, Go]]:
    from asyncstate.fleet.controller.records import find_record, joined_plans

    board, signer = operator_of(options)
    async with board:
        record = await find_record(board, options["run"])
        return await joined_plans(board, signer, record.run)


async def _of_hosts(
    console: Console, settings: Settings, selection: Selection, options: dict[str, Any]
) -> tuple[Mapping[str, HostPlan], Mapping[str, Go]]:
    """Offer a dry run that ends once the plans are joined."""
    import os

    from asyncstate.errors import CompileError, FleetError
    from asyncstate.fleet.controller.controller import Controller, Request
    from asyncstate.fleet.controller.tale import Observer
    from asyncstate.fleet.protocol import Options

    class Joined(Observer):
        plans: Mapping[str, HostPlan] = {}
        goes: Mapping[str, Go] = {}

        def joined(self, plans: Mapping[str, HostPlan], goes: Mapping[str, Go]) -> None:
            self.plans, self.goes = plans, goes

    board, signer = operator_of(options)
    request = Request(
        target=options["target"],
        sls=tuple(selection.sls or ()),
        options=Options(
            test=True, exclude=tuple(selection.exclude), saltenv=selection.saltenv, pillar=options["pillar"] or {}
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
