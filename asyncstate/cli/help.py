"""``asyncstate help``: the same as ``--help`` of a command."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import click

from asyncstate.cli.framework import completes, new_command, option

if TYPE_CHECKING:
    from asyncstate.cli.console import Console


@new_command(
    "help",
    examples=(
        ("asyncstate help", "All commands."),
        ("asyncstate help apply", "The usual options of a command, and examples."),
        ("asyncstate help show lowstate --all", "Every option."),
    ),
)
@click.argument("words", metavar="[COMMAND]...", nargs=-1, shell_complete=completes("command"))
@option("--all", "everything", is_flag=True, help="Explain every option, as --help-all does.")
def command(console: Console, /, words: tuple[str, ...], everything: bool) -> int:
    """Explain a command: its usual options, or all of them.

    Without COMMAND, list the commands.
    """
    program = click.get_current_context().find_root()
    has_tiers = bool(words) and words[0] != "salt-call"  # its options are Salt's
    flag = "--help-all" if everything and has_tiers else "--help"
    kept = io.BytesIO()
    told = io.TextIOWrapper(kept, encoding="utf-8", write_through=True)  # standard output is reserved for the answer
    with redirect_stdout(told):
        code: int = program.command.main(
            [*words, flag], prog_name=program.info_name, standalone_mode=False, obj=console
        )
    console.write(kept.getvalue().decode())
    return code
