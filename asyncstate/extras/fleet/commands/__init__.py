"""``asyncstate fleet``: runs across many hosts. One file a command, imported when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from asyncstate.cli.framework import Family

if TYPE_CHECKING:
    from asyncstate.cli.console import Console


_PARTS = {
    "demo": ("To try it", "A server and three hosts on this machine, and a run across them."),
    "apply": ("Run", "Bring many hosts into the state that their trees describe, as one run."),
    "orchestrate": ("Run", "Run Salt's orchestration SLS: steps, each on many hosts."),
    "attach": ("Run", "Take up a run whose `fleet apply` was killed."),
    "cancel": ("Run", "Let all hosts of a run start nothing more."),
    "status": ("Look", "Which hosts there are, and which are there now."),
    "runs": ("Look", "The runs that the server keeps."),
    "show": ("Look", "What the hosts of a run have reported."),
    "graph": ("Look", "Which states of the hosts wait for which."),
    "logs": ("Look", "What the agent of a host logs."),
    "up": ("Server and hosts", "Start the server that stands between the hosts."),
    "enroll": ("Server and hosts", "Make the credentials of a host."),
    "revoke": ("Server and hosts", "Take the key of a host."),
    "prune": ("Server and hosts", "Remove runs from the server, and make room."),
    "agent": ("Server and hosts", "On a host: take part in runs."),
}


@click.group(
    "fleet",
    cls=Family,
    parts=_PARTS,
    folder=__name__,
    examples=(
        ("asyncstate fleet demo", "See it work."),
        (
            "asyncstate fleet up --dir /srv/fleet --listen 0.0.0.0:4222 --name fleet.example.com",
            "A server, and the operator's credentials in /srv/fleet/operator.creds.",
        ),
        ("asyncstate fleet enroll db1 --dir /srv/fleet --out db1.creds", "A host: bring the file there."),
        ("asyncstate fleet agent --creds db1.creds --nats tls://fleet.example.com:4222", "On that host."),
        (
            "export ASYNCSTATE_FLEET_CREDS=/srv/fleet/operator.creds ASYNCSTATE_FLEET_NATS=tls://fleet.example.com:4222",
            "For the commands below, in place of --creds and --nats.",
        ),
        ("asyncstate fleet apply --target '*' --test", "What a run would change."),
        ("asyncstate fleet graph --target '*' --format html --output fleet.html", "Which state waits for which."),
    ),
)
def command(console: Console, /) -> None:
    """Apply trees to many hosts as one run, in which a state may require a state on another host."""
    console.answers_with_data = True
