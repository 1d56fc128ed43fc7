"""``asyncstate fleet up``: the server between the hosts of a fleet. On asyncio, as NATS's client is."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import click

from asyncstate.cli.framework import new_command, option

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.extras.fleet.nats.folder import Folder, Settings

_BETWEEN_ROUNDS = 3600.0


@new_command(
    "up",
    examples=(
        ("asyncstate fleet up --dir /srv/fleet", "A server for this machine alone, to try it."),
        (
            "asyncstate fleet up --dir /srv/fleet --listen 0.0.0.0:4222 --name fleet.example.com",
            "A server for other hosts, which call it fleet.example.com.",
        ),
        ("asyncstate fleet up --dir fleet --print-config --replicas 3", "What a cluster of NATS needs for a fleet."),
    ),
)
@option(
    "--dir",
    "folder",
    section="Run",
    required=True,
    metavar="DIR",
    help="Folder for the keys, configuration and data of the server.",
)
@option(
    "--listen", section="Run", metavar="ADDR:PORT", help="Address to listen on (127.0.0.1:4222, or as the last time)."
)
@option("--name", "names", section="Run", multiple=True, metavar="NAME", help="Name by which hosts reach this server.")
@option(
    "--replicas",
    section="Run",
    type=click.IntRange(1, 5),
    metavar="N",
    help="Number of servers of a cluster that keep each message (1).",
)
@option(
    "--max-size",
    section="Run",
    type=click.FloatRange(min=0.01),
    metavar="GIB",
    help="Storage limit of the server, in GiB (4, or as the last time).",
)
@option(
    "--stream-size",
    "stream_sizes",
    section="Run",
    multiple=True,
    metavar="NAME=GIB",
    help="Part of that limit for a stream: control, answers, data or archive; 0 for its share; repeatable.",
)
@option(
    "--keep",
    section="Run",
    type=click.FloatRange(min=0, min_open=True),
    metavar="DAYS",
    help="How long the server keeps runs, events and logs (7, or as the last time).",
)
@option("--print-config", is_flag=True, help="Print the configuration of a NATS server; start none.")
def command(
    console: Console,
    /,
    folder: str,
    listen: str | None,
    names: tuple[str, ...],
    replicas: int | None,
    *,
    max_size: float | None,
    stream_sizes: tuple[str, ...],
    keep: float | None,
    print_config: bool,
) -> int:
    """Start a NATS server for a fleet, in the foreground; SIGTERM or Ctrl-C ends it.

    The first start makes certificates and the operator's key, DIR/operator.creds; later ones use them again. Once the
    line "ready URL" is printed, agents and operators can connect to URL.
    """
    from asyncstate.extras.fleet.nats.folder import Folder, with_free_port
    from asyncstate.extras.fleet.nats.server import find_program

    place = Folder(folder)
    largest = None if max_size is None else int(max_size * (1 << 30))
    limits = dict(map(_limit_of, stream_sizes))
    if print_config:
        place.prepare(listen, names, replicas, largest=largest, kept_days=keep, limits=limits)
        console.lines([_for_a_cluster(place)])
        return 0
    program = find_program()
    settings = place.prepare(
        listen and with_free_port(listen),
        names,
        replicas,
        program.version,
        largest=largest,
        kept_days=keep,
        limits=limits,
    )
    return console.run(lambda: _serve(console, place, program.path, settings), on_signal=0)


def _limit_of(text: str) -> tuple[str, int]:
    """Return the name of a stream and its bytes. Raises UsageError."""
    from asyncstate.extras.fleet.nats.access import STREAMS

    name, _, size = text.partition("=")
    names = [stream.name for stream in STREAMS]
    try:
        if name in names and 0 <= (size_of := float(size)) < 1 << 30:
            return name, int(size_of * (1 << 30))
    except ValueError:
        pass
    raise click.UsageError(f"--stream-size {text!r} is not NAME=GIB, with one of {', '.join(names)}: control=1.5")


async def _serve(console: Console, folder: Folder, program: str, settings: Settings) -> int:
    """Run the server until it ends, or this is cancelled."""
    from asyncstate.errors import FleetError
    from asyncstate.extras.fleet.nats.server import Server, last_words

    server = Server(folder, program)
    try:
        await server.start()
        console.lines([f"ready {_url(settings)}"])
        tending = asyncio.create_task(_tend(folder))
        try:
            code = await server.ended()
        finally:
            tending.cancel()
        raise FleetError(f"the server ended by itself with code {code}. {last_words(folder)}")
    finally:
        await server.stop()


async def _tend(folder: Folder) -> None:
    """Every hour, remove old runs, as each connection of an operator does, and renew the certificate in time."""
    from asyncstate.errors import FleetError
    from asyncstate.extras.fleet.nats.board import NatsBoard
    from asyncstate.extras.fleet.nats.server import reload
    from asyncstate.logs import get_logger

    while True:
        await asyncio.sleep(_BETWEEN_ROUNDS)
        try:
            if folder.renew():
                await reload(folder)
            async with NatsBoard(folder.server_url(), folder.operator()):
                pass
        except FleetError as error:
            get_logger(__name__).warning("The server is not in order: %s", error)


def _url(settings: Settings) -> str:
    """Return the address for hosts: by a name of the server if it listens on all its addresses."""
    from asyncstate.extras.fleet.nats.folder import joined_address, split_address

    host, port = split_address(settings.address)
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        host = settings.names[0] if settings.names else socket.gethostname()
    return f"tls://{joined_address(host, port)}"


def _for_a_cluster(folder: Folder) -> str:
    """Return the configuration for the servers of an existing cluster, with instructions."""
    from asyncstate.extras.fleet.nats.folder import LARGEST_MESSAGE
    from asyncstate.extras.fleet.nats.server import OLDEST

    oldest = ".".join(map(str, OLDEST))
    return (
        f"# For every server of the cluster (nats-server {oldest} or later), with JetStream and TLS. Include this, or\n"
        f"# {folder.within('accounts.conf')}\n"
        "# and reload the servers after each `asyncstate fleet enroll` and `fleet revoke`. Hosts check the servers'\n"
        f"# certificates with {folder.within('authority.pem')}\n"
        f"# Credentials of the operator: {folder.within('operator.creds')}; the first to use them makes the streams.\n"
        f"max_payload: {LARGEST_MESSAGE}\n" + folder.accounts_text().rstrip()
    )
