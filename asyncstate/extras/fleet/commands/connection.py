"""Connection options shared by the commands of a fleet: the server's address and the credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import option
from asyncstate.cli.options import together

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.extras.fleet.credentials import Credentials
    from asyncstate.extras.fleet.nats.board import NatsBoard
    from asyncstate.extras.fleet.signing import OperatorSigner


def _connection(*, required: bool) -> Callable[[Any], Any]:
    return together(
        option(
            "--creds",
            section="Run",
            required=required,
            metavar="FILE",
            type=click.Path(),
            envvar="ASYNCSTATE_FLEET_CREDS",
            help="Credentials: of `asyncstate fleet enroll` for a host, operator.creds of `fleet up` for an operator.",
        ),
        option(
            "--nats",
            section="Run",
            required=required,
            metavar="URL",
            envvar="ASYNCSTATE_FLEET_NATS",
            help="Address of the server, as `asyncstate fleet up` prints it.",
        ),
    )


connection_options: Callable[[Any], Any] = _connection(required=True)
"""The server's address and the credentials."""

optional_connection_options: Callable[[Any], Any] = _connection(required=False)
"""The same for commands that may reach hosts in another way: see `over_ssh.require_one_way`."""


def operator_of(options: dict[str, Any]) -> tuple[NatsBoard, OperatorSigner]:
    """Return the board and the key of an operator. Raises UsageError for credentials of a host, FleetError."""
    from asyncstate.extras.fleet import credentials
    from asyncstate.extras.fleet.nats.board import NatsBoard
    from asyncstate.extras.fleet.signing import OperatorSigner

    own: Credentials = credentials.read(options["creds"])
    if own.role != credentials.OPERATOR:
        raise click.UsageError(f"{options['creds']} is that of host {own.name}: this needs an operator's")
    return NatsBoard(options["nats"], own), OperatorSigner(own.signs)
