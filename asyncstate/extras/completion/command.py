"""``asyncstate completion``: the completion script for a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from asyncstate.cli.framework import new_command
from asyncstate.extras.completion.shell import PROGRAMS, SHELLS, script

if TYPE_CHECKING:
    from asyncstate.cli.console import Console


@new_command(
    "completion",
    examples=(
        ("asyncstate completion bash > /etc/bash_completion.d/asyncstate", "For every user of bash."),
        ("asyncstate completion zsh > ~/.zfunc/_asyncstate", "For zsh, if ~/.zfunc is in fpath."),
        ("asyncstate completion fish > ~/.config/fish/completions/asyncstate.fish", "For fish."),
        ("asyncstate completion fish salt-call > ~/.config/fish/completions/salt-call.fish", "For salt-call in fish."),
    ),
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.argument("program", type=click.Choice(PROGRAMS), default=PROGRAMS[0])
def command(console: Console, /, shell: str, program: str) -> None:
    """Print the completion script of bash, zsh or fish.

    It completes commands and options; SLS names, IDs and environments of the tree; states and functions with their
    arguments; runs and hosts; files where files are meant. PROGRAM is asyncstate (default), or salt-call for the
    program that salt-call --install writes.
    """
    console.write(script(shell, program), redacted=True)
