"""``asyncstate fleet``: runs across many hosts. One file a command, imported when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from asyncstate.cli.framework import Family

if TYPE_CHECKING:
    from asyncstate.cli.console import Console


_PARTS = (
    "demo",
    "apply",
    "orchestrate",
    "status",
    "runs",
    "show",
    "attach",
    "cancel",
    "logs",
    "agent",
    "up",
    "enroll",
    "revoke",
)


@click.group(
    "fleet",
    cls=Family,
    parts=_PARTS,
)
@click.pass_obj
def command(console: Console, /) -> None:
    """Apply trees to many hosts as one run."""
    console.answers_with_data = True
