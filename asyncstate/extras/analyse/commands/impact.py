"""``asyncstate show impact``: what follows from the outcome of a state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import completes, new_command
from asyncstate.cli.options import compiled_options
from asyncstate.cli.show import shown_plan

if TYPE_CHECKING:
    from asyncstate.cli.console import Console


@new_command(
    "impact",
    forms=("human", "json", "yaml"),
    examples=(
        ("asyncstate show impact nginx_conf", "What a change or a failure of a state causes."),
        ("asyncstate show impact nginx_conf web --out json", "The same for one SLS file, for a program."),
    ),
)
@click.argument("wanted", metavar="ID", shell_complete=completes("id"))
@compiled_options
def command(console: Console, /, wanted: str, sls: tuple[str, ...], **options: Any) -> None:
    """Show what may run, restart, fail or be skipped because of a state.

    ID is the ID or the name of a state. SLS are names of SLS files; without names, those that top.sls assigns.
    """
    settings, selection = console.selected(sls, options)
    from asyncstate.extras.analyse.impact import impact, impact_lines
    from asyncstate.report.terminal import parted

    plan, found = shown_plan(console, settings, selection, wanted)
    console.answer(
        lambda palette: parted(impact_lines(plan, index, palette) for index in found),
        lambda: [impact(plan, index) for index in found],
    )
