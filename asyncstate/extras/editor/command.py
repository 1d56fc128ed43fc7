"""``asyncstate lsp``: the language server that editors start."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from asyncstate.cli.framework import new_command, option
from asyncstate.cli.options import tree_options
from asyncstate.errors import AsyncStateError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings

_COMPILER = (sys.executable, "-m", "asyncstate", "lsp", "--compiler")


@new_command(
    "lsp",
    examples=(
        ("asyncstate lsp", "What an editor starts, in the folder that it has open."),
        ("asyncstate lsp --file-root ./salt --pillar-root ./pillar", "For a tree that no configuration names."),
    ),
)
@tree_options
@option(
    "--compiler",
    section="General",
    is_flag=True,
    help="Run the compiler process of the language server. The server starts itself so: not for people.",
)
def command(console: Console, /, *, compiler: bool, **options: Any) -> None:
    """Run the language server for an editor: completion, documentation, definitions … (a language server).

    Speaks the Language Server Protocol on standard input and output; the log goes to standard error. Texts that the
    editor has not saved count in place of those on the disk. No state runs. Templates are rendered, but of the
    execution functions that they call, only those run that change nothing.
    """
    if console.stdout is None:
        raise click.UsageError("standard output is closed: an editor starts this program")
    answers = console.stdout.buffer
    if compiler:
        _compile(console, answers)
        return
    try:
        from asyncstate.extras.editor.server import serve
        from asyncstate.extras.editor.session import Program
    except ModuleNotFoundError as error:
        if error.name not in {"pygls", "lsprotocol"}:
            raise
        raise AsyncStateError("editors need pygls, which cannot be imported: pip install 'pygls>=2.0'") from None

    def settings(of: Mapping[str, Any]) -> Settings:
        return console.settings(dict(of))

    def lost(error: OSError) -> None:
        if isinstance(error, BrokenPipeError):  # the editor has gone
            console.end(0, "the editor has gone")
        console.unwritten("standard output", error.strerror or str(error))
        console.end(os.EX_IOERR, "no answer could be written")

    # pygls closes its streams at the end, so it gets copies of the program's
    with os.fdopen(os.dup(sys.stdin.fileno()), "rb") as read, os.fdopen(os.dup(answers.fileno()), "wb") as write:
        serve(Program(options, settings, _COMPILER), read, write, lost)


def _compile(console: Console, answers: BinaryIO) -> None:
    """Read jobs, and write the compiler's replies."""
    from asyncstate.extras.editor.compile_process import serve

    def say(lines: bytes) -> None:
        answers.write(lines)
        answers.flush()

    serve(sys.stdin.fileno(), say, lambda options: console.settings(dict(options)))
