"""``asyncstate show graph``: which state waits for which, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import new_command, option
from asyncstate.cli.options import compiled_options
from asyncstate.cli.show import shown_plan
from asyncstate.extras.picture.options import picture_options

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.extras.picture.picture import Picture


@new_command(
    "graph",
    examples=(
        ("asyncstate show graph web --format html --output web.html", "A page for a browser."),
        ("asyncstate show graph | dot -Tpdf > tree.pdf", "With Graphviz."),
        ("asyncstate show graph web --format mermaid", "To paste into Markdown."),
        (
            "asyncstate show graph --around nginx --format mermaid",
            "A part of a large tree.",
        ),
    ),
)
@compiled_options
@picture_options
@option(
    "--around",
    section="Selection",
    metavar="ID",
    help="Draw only states with this ID or name, and what is at most two steps away.",
)
def command(console: Console, /, sls: tuple[str, ...], **options: Any) -> None:
    """Show which states wait for which.

    The colour and the pattern of a line say why: each requisite has its own; thick grey lines are explicit orders and
    those of files, dashed ones connect states that touch the same file, service …, dotted ones are groups that share
    one call, and several targets combined in one node. Edges that follow from others are left out.
    """
    from asyncstate.extras.picture.drawing import show_picture
    from asyncstate.extras.picture.picture import around
    from asyncstate.extras.picture.plan_graph import graph_data, picture_of

    settings, selection = console.selected(sls, options)
    if options["around"] is not None and options["form"] == "json":
        raise click.UsageError("--around is for a picture: --format dot, mermaid, html or svg")
    plan, wanted = shown_plan(console, settings, selection, options["around"])
    title = f"plan of {', '.join(selection.sls)}" if selection.sls else "plan"

    def picture() -> Picture:
        whole = picture_of(plan)
        return around(whole, wanted) if wanted else whole

    show_picture(console, options, picture, title, lambda every_edge: graph_data(plan, every_edge=every_edge))
