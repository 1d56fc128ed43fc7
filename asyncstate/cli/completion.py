"""``asyncstate completion``: the script with which a shell completes commands, options, SLS names and functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from asyncstate.cli.framework import Command

if TYPE_CHECKING:
    from asyncstate.cli.console import Console


@click.command(
    "completion",
    cls=Command,
    examples=(
        ("asyncstate completion bash > /etc/bash_completion.d/asyncstate", "For every user of bash."),
        ("asyncstate completion zsh > ~/.zfunc/_asyncstate", "For zsh, if ~/.zfunc is in fpath."),
        ("asyncstate completion fish > ~/.config/fish/completions/asyncstate.fish", "For fish."),
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_obj
def command(console: Console, /, shell: str) -> int:
    """Print the completion script of bash, zsh or fish.

    It completes commands, options, the SLS names of the tree, and the functions of single, call and doc.
    """
    from click.shell_completion import ShellComplete, get_completion_class

    from asyncstate.cli.root import root

    completer = get_completion_class(shell)
    if completer is None:
        raise click.UsageError(f"no completion for {shell}")
    instance = completer(root, {}, "asyncstate", "_ASYNCSTATE_COMPLETE")
    console.write(ShellComplete.source(instance))  # bash's own method would start bash to check its version
    return 0
