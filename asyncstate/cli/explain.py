"""``asyncstate explain``: why a state runs when it runs, and on what that depends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import Command
from asyncstate.cli.options import data_option, selection_options, tree_options, what_if_options
from asyncstate.cli.selection import complete_sls, select, states_called

if TYPE_CHECKING:
    from asyncstate.cli.console import Console


@click.command(
    "explain",
    cls=Command,
    examples=(
        ("asyncstate explain nginx_conf", "A state of the highstate, by its ID or name."),
        ("asyncstate explain nginx_conf web --out json", "The same for one SLS file, for a program."),
    ),
)
@click.argument("wanted", metavar="ID")
@click.argument("sls", nargs=-1, shell_complete=complete_sls)
@tree_options
@selection_options
@what_if_options
@data_option("human", "json", "yaml")
@click.pass_obj
def command(console: Console, /, wanted: str, sls: tuple[str, ...], **options: Any) -> int:
    """Explain when a state runs, and what it depends on.

    That is its place in the serial order, what it waits for and why, and what would skip or fail it. ID is the ID or
    the name of a state; SLS are names of SLS files, without any those that top.sls assigns. Nothing is run.
    """
    settings, selection = select(console, sls, options)
    from asyncstate.report.explain import explain_lines, explanation
    from asyncstate.runtime import StateRuntime

    with StateRuntime(settings).open_sync() as runtime:
        plan = runtime.compile_sync(
            selection.sls, saltenv=selection.saltenv, exclude=selection.exclude, ids=selection.ids
        )
    found = states_called(plan, wanted)
    if console.out == "human":
        for number, index in enumerate(found):
            console.lines([*([""] if number else []), *explain_lines(plan, index, console.palette())])
    else:
        console.data([explanation(plan, index) for index in found])
    return 0
