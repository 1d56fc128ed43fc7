"""``asyncstate fleet enroll``: credentials for one host."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from asyncstate.cli.framework import new_command, option
from asyncstate.extras.fleet.commands.completion import complete_enrolled

if TYPE_CHECKING:
    from asyncstate.cli.console import Console


@new_command(
    "enroll",
    examples=(
        (
            "asyncstate fleet enroll db1 --dir /srv/fleet --out db1.creds",
            "Credentials for db1: copy them there. Once more, and the former are no longer good.",
        ),
        (
            "asyncstate fleet enroll web1 web2 web3 --dir /srv/fleet --out creds",
            "Credentials for several hosts, in the folder creds.",
        ),
    ),
)
@click.argument("hosts", nargs=-1, required=True, metavar="HOST...", shell_complete=complete_enrolled)
@option("--dir", "folder", section="Run", required=True, metavar="DIR", help="The folder of `asyncstate fleet up`.")
@option("--out", "path", required=True, metavar="FILE", help="File for the credentials.")
def command(console: Console, /, hosts: tuple[str, ...], folder: str, path: str) -> None:
    """Create a key for HOST, let it connect, and write its credentials to FILE, for its owner only.

    If FILE is a folder, as it is for several hosts, each has HOST.creds there. A folder that is missing is made. It
    takes effect at once if the server runs on this machine. A host that was enrolled before gets a new key, and its
    former credentials no longer work.
    """
    from asyncstate.extras.fleet import credentials
    from asyncstate.extras.fleet.nats.folder import Folder
    from asyncstate.extras.fleet.nats.server import reload

    place = Folder(folder)
    place.settings()
    hosts = tuple(dict.fromkeys(hosts))
    alone = len(hosts) == 1 and not (os.path.isdir(path) or path.endswith("/"))
    paths = [path] if alone else [_within(path, host) for host in hosts]
    _make_folder(os.path.dirname(paths[0]) or ".")
    for host, each in zip(hosts, paths, strict=True):
        credentials.require_writable(each, host)
    for each, made in zip(paths, place.enrol_all(hosts), strict=True):
        credentials.write(each, made)
    running = console.run(lambda: reload(place))
    later = "" if running else f"; they work once the server has read {place.within('accounts.conf')}"
    console.lines([f"{host}: credentials in {each}{later}" for host, each in zip(hosts, paths, strict=True)])


def _within(folder: str, host: str) -> str:
    """Return the path of the credentials of one host in a folder. Raises UsageError for a host that is no file name."""
    if "/" in host:
        raise click.UsageError(
            f"{host!r} cannot be the name of a file: enrol this host alone, and name its file as --out"
        )
    return os.path.join(folder, f"{host}.creds")


def _make_folder(path: str) -> None:
    """Make the folder for credentials, for its owner only. Raises UsageError if that fails."""
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise click.UsageError(f"{path} cannot be a folder for credentials: {error.strerror}") from None
