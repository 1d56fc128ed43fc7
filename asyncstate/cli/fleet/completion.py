"""What a shell completes in the commands of a fleet: hosts and runs, as the server knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    import click

    from asyncstate.fleet.board import Board

_PATIENCE = 2.0
"""Seconds after which a shell is answered without the server."""


def complete_runs(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Offer the IDs of runs, newest first, if credentials and address are known by then."""
    from asyncstate.fleet.controller.records import run_records

    async def names(board: Board) -> list[str]:
        return [record.run for record in await run_records(board)]

    return _beginning(_asked(ctx, names), incomplete)


def complete_hosts(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Offer the hosts that were ever there, if credentials and address are known by then."""
    from asyncstate.fleet.controller.records import host_infos

    async def names(board: Board) -> list[str]:
        return sorted(await host_infos(board))

    return _beginning(_asked(ctx, names), incomplete)


def complete_enrolled(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Offer the hosts that are enrolled in the folder that ``--dir`` names, if it stands before."""
    from asyncstate.errors import AsyncStateError
    from asyncstate.fleet.nats.folder import Folder

    try:
        return _beginning(sorted(Folder(ctx.params["folder"]).settings().hosts), incomplete)
    except (AsyncStateError, OSError, KeyError, TypeError):
        return []


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _asked(ctx: click.Context, names: Callable[[Board], Awaitable[list[str]]]) -> list[str]:
    """Return what an operator's board answers; nothing if there is no answer soon."""
    import click

    from asyncstate.cli.event_loop import run_on
    from asyncstate.cli.fleet.connection import operator_of
    from asyncstate.errors import AsyncStateError

    async def ask() -> list[str]:
        import anyio

        board, _ = operator_of(ctx.params)
        found: list[str] = []
        with anyio.move_on_after(_PATIENCE):
            async with board:
                found = await names(board)
        return found

    if not ctx.params.get("creds") or not ctx.params.get("nats"):
        return []
    try:
        return run_on("asyncio", ask)
    except (AsyncStateError, OSError, click.UsageError):
        return []
