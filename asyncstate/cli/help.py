"""``asyncstate help``: the same as ``--help`` of a command."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import click

from asyncstate.cli.framework import completes, console_of, new_command, option


@new_command(
    "help",
    examples=(
        ("asyncstate help", "All commands."),
        ("asyncstate help apply", "The usual options of a command, and examples."),
        ("asyncstate help show graph --all", "Every option."),
    ),
)
@click.argument("words", metavar="[COMMAND]...", nargs=-1, shell_complete=completes("command"))
@option("--all", "everything", is_flag=True, help="Explain every option, as --help-all does.")
@click.pass_context
def command(ctx: click.Context, /, words: tuple[str, ...], everything: bool) -> int:
    """Explain a command: its usual options, or all of them.

    Without COMMAND, list the commands.
    """
    program = ctx.find_root()
    has_tiers = bool(words) and words[0] != "salt-call"  # its options are Salt's
    flag = "--help-all" if everything and has_tiers else "--help"
    kept = io.BytesIO()
    told = io.TextIOWrapper(kept, encoding="utf-8", write_through=True)  # standard output is reserved for the answer
    with redirect_stdout(told):
        code: int = program.command.main(
            [*words, flag], prog_name=program.info_name, standalone_mode=False, obj=ctx.obj
        )
    console_of(ctx).write(kept.getvalue().decode())
    return code
