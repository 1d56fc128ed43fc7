"""``asyncstate fleet apply --ssh``: the options of runs on hosts without an agent, and their session."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import option
from asyncstate.cli.options import config_options, retold, together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.extras.fleet.ssh.session import Session

_ONLY_HERE = ("ssh_known_hosts", "ssh_keep")


way_options: Callable[[Any], Any] = together(
    option(
        "--ssh",
        section="Run",
        metavar="ROSTER",
        type=click.Path(exists=True, dir_okay=False),
        help="Reach the hosts of this roster (Salt's format) over ssh: no agent, no server. Their tree is that of "
        "this machine.",
    ),
    option(
        "--ssh-known-hosts",
        section="Run",
        multiple=True,
        type=click.Path(exists=True, dir_okay=False),
        help="File with the keys of hosts, instead of ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts; repeatable.",
    ),
    option(
        "--ssh-connections",
        section="Run",
        metavar="N",
        type=click.IntRange(min=1),
        default=25,
        help="Number of connections at once (25).",
    ),
    option(
        "--ssh-keep",
        section="Run",
        metavar="DIR",
        help="Keep the program in this private folder of each host, for the next run. Default: nothing is left.",
    ),
)
"""The options of connections over ssh."""


root_options: Callable[[Any], Any] = retold(
    config_options,
    {
        "--file-root": "With --ssh: directory with SLS files and sources; repeatable. Replaces file_roots of the "
        "configuration.",
        "--pillar-root": "With --ssh: directory with pillar SLS files; repeatable. Replaces pillar_roots of the "
        "configuration.",
    },
)
"""The options for the location of the tree for hosts over ssh."""


def require_one_way(options: dict[str, Any], only_over_ssh: Iterable[str]) -> None:
    """Raise UsageError unless the options name either a roster, or a server and credentials for it.

    ``only_over_ssh`` are options that mean something with a roster only.
    """
    if not options["ssh"]:
        missing = [f"--{name}" for name in ("creds", "nats") if not options[name]]
        if missing:
            raise click.UsageError(
                f"Missing option {' and '.join(missing)}; or --ssh ROSTER for hosts without an agent."
            )
        for name in (*_ONLY_HERE, *only_over_ssh):
            if options[name]:
                raise click.UsageError(f"--{name.replace('_', '-')} goes with --ssh: hosts with agents have their own.")


async def session_of(console: Console, settings: Settings, options: dict[str, Any]) -> Session:
    """Return the session, to be entered. Raises CompileError for mistakes in the roster, FleetError."""
    import anyio.to_thread

    from asyncstate.extras.fleet.ssh import roster
    from asyncstate.extras.fleet.ssh.connection import Ways
    from asyncstate.extras.fleet.ssh.session import Session

    hosts = await anyio.to_thread.run_sync(roster.read, options["ssh"], settings)
    keep = options["ssh_keep"] or ""
    if keep and not keep.startswith(("/", "~/")):
        raise click.UsageError(
            f"--ssh-keep: {keep} is neither absolute nor begins with ~/: it is a folder of the hosts"
        )
    return Session(
        hosts,
        settings,
        options["target"],
        Ways(known_hosts=tuple(map(os.path.abspath, options["ssh_known_hosts"])), keep=keep),
        connections=options["ssh_connections"],
        deadline=options["deadline"],
        say=console.say,
    )
