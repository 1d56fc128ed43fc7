"""Shell completion for the commands of a fleet: hosts and runs, as the server knows them."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from asyncstate.cli.framework import completes

if TYPE_CHECKING:
    from collections.abc import Iterable

    import click

_PATIENCE = 2.0
"""Seconds after which completion gives up on the server."""
_BEFORE_A_HOST = re.compile(r"(?:.*[\s,(]|)(?:[LE]@|)", re.DOTALL)


def complete_runs(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Offer the IDs of runs, newest first, if credentials and address are known by then."""
    return _beginning(_known(ctx)["runs"], incomplete)


def complete_hosts(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Offer all hosts that the fleet ever had, if credentials and address are known by then."""
    return _beginning(_known(ctx)["hosts"], incomplete)


def complete_target(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete a host in a target expression: from the roster of --ssh, else from the server."""
    found = _BEFORE_A_HOST.match(incomplete)
    before = found[0] if found else ""
    hosts = _known(ctx)["hosts"]
    if ctx.params.get("ssh"):
        hosts = [item.value for item in completes("host")(ctx, param, "")]
    return _beginning((f"{before}{host}" for host in hosts), incomplete)


def complete_enrolled(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Offer the hosts enrolled in the folder of ``--dir``, if that option comes before."""
    from asyncstate.errors import AsyncStateError
    from asyncstate.extras.fleet.nats.folder import Folder

    try:
        return _beginning(sorted(Folder(ctx.params["folder"]).settings().hosts), incomplete)
    except (AsyncStateError, OSError, KeyError, TypeError):
        return []


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _known(ctx: click.Context) -> dict[str, list[str]]:
    """Return the hosts and runs that the server knows; none if it does not answer soon."""
    found: dict[str, list[str]] = {"hosts": [], "runs": []}
    if not ctx.params.get("creds") or not ctx.params.get("nats"):
        return found
    import asyncio

    import click

    from asyncstate.errors import AsyncStateError
    from asyncstate.extras.fleet.commands.connection import operator_of
    from asyncstate.extras.fleet.controller.records import host_infos, run_records

    async def ask() -> None:
        import anyio

        board, _ = operator_of(ctx.params)
        with anyio.move_on_after(_PATIENCE):
            async with board:
                found["hosts"] = sorted(await host_infos(board))
                found["runs"] = [record.run for record in await run_records(board)]

    with suppress(AsyncStateError, OSError, click.UsageError):
        asyncio.run(ask())
    return found
