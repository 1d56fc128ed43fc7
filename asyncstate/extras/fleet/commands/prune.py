"""``asyncstate fleet prune``: removes runs from the server, and prints the bytes that this freed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import new_command, option
from asyncstate.extras.fleet.commands.completion import complete_runs
from asyncstate.extras.fleet.commands.connection import connection_options, operator_of

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.extras.fleet.nats.board import NatsBoard


@new_command(
    "prune",
    examples=(
        ("asyncstate fleet prune --older-than 2", "Everything of runs, events and logs of more than two days ago."),
        ("asyncstate fleet prune 4be1", "The run whose ID begins so, if it has ended."),
        ("asyncstate fleet prune --host db1", "All that db1 wrote, and all that is for it."),
    ),
)
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=complete_runs)
@option(
    "--older-than",
    section="Run",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Delete runs, events and logs older than DAYS days, also those of unfinished runs.",
)
@option("--host", "hosts", section="Run", multiple=True, metavar="HOST", help="Delete all data of HOST; repeatable.")
@connection_options
def command(
    console: Console, /, runs: tuple[str, ...], older_than: float | None, hosts: tuple[str, ...], **options: Any
) -> int:
    """Delete runs, old data or the data of a host from the server. It works on a server that is full, too.

    RUN is an ID, or a unique beginning of one. What hosts say of themselves stays, but for that of --host.
    """
    if not runs and not hosts and older_than is None:
        raise click.UsageError("name what is to be removed: RUN, --older-than DAYS or --host HOST")
    return console.run(lambda: _prune(console, runs, older_than, hosts, options))


async def _prune(
    console: Console, runs: tuple[str, ...], older_than: float | None, hosts: tuple[str, ...], options: dict[str, Any]
) -> int:
    from asyncstate.errors import FleetError
    from asyncstate.extras.fleet import subjects
    from asyncstate.extras.fleet.controller.records import find_record

    board, _ = operator_of(options)
    async with board:
        records = [await find_record(board, run) for run in runs]
        for record in records:
            if record.ended is None:
                raise FleetError(f"run {record.run} has not ended: `asyncstate fleet cancel {record.run}` stops it")
        before = used(await board.room())
        for record in records:
            await board.forget(*subjects.of_run(record.run))
        for host in hosts:
            await _forget_host(board, host)
        if older_than is not None:
            await board.forget_before(datetime.now(UTC) - timedelta(days=older_than))
        room = await board.room()
    each = ", ".join(f"{name} {size(has)} of {size(most)}" for name, (has, most) in room.items())
    console.lines([f"{size(before - used(room))} removed; the server has {size(used(room))} now: {each}"])
    return 0


async def _forget_host(board: NatsBoard, host: str) -> None:
    """Remove the data of a host. Raises FleetError if there is no such host and the server has no data of it."""
    from asyncstate.extras.fleet import subjects
    from asyncstate.extras.fleet.controller.records import host_infos, require_known

    known, before = await host_infos(board), used(await board.room())
    await board.forget(*subjects.of_host(host))
    if used(await board.room()) == before:
        require_known(host, known)


def used(room: dict[str, tuple[int, int]]) -> int:
    """Return the bytes in use by all streams of a server."""
    return sum(has for has, _ in room.values())


def size(count: int) -> str:
    """Return a number of bytes in a human-readable form."""
    value, unit = float(max(count, 0)), "bytes"
    for larger in ("KiB", "MiB", "GiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
