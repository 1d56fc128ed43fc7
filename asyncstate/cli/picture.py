"""The options of commands that draw a graph, and the text or file that they write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import option

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.analyse.picture import Picture
    from asyncstate.cli.console import Console


def picture_options(function: Any) -> Any:
    """Add the options that say how a graph is drawn."""
    decorators: tuple[Callable[[Any], Any], ...] = (
        option(
            "--format",
            "form",
            section="Output",
            default="dot",
            type=click.Choice(["dot", "mermaid", "svg", "json"]),
            help="dot (default) for Graphviz, mermaid for Markdown, svg for a browser, json for programs.",
        ),
        option(
            "--edges",
            section="Output",
            type=click.Choice(["needed", "all"]),
            help="needed (default in pictures): without edges that follow from others. "
            "all (default in json): every edge.",
        ),
        option(
            "--layout",
            section="Output",
            type=click.Choice(["auto", "builtin", "graphviz"]),
            help="Who finds the places in an SVG. auto (default): Graphviz where it is installed and works, "
            "else asyncstate.",
        ),
        option(
            "--output",
            section="Output",
            metavar="FILE",
            type=click.Path(dir_okay=False),
            help="Write to FILE, not to standard output.",
        ),
    )
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


def every_edge(options: dict[str, Any]) -> bool:
    """Whether edges that follow from others are drawn. Raises UsageError for options that do not go together."""
    form = options["form"]
    if options["layout"] is not None and form != "svg":
        raise click.UsageError(
            f"--layout is for an SVG, found --format {form}: add --format svg, or leave out --layout"
        )
    return bool((options["edges"] or ("all" if form == "json" else "needed")) == "all")


def drawn_picture(console: Console, picture: Picture, options: dict[str, Any]) -> str:
    """Return a picture as text; say so if it is too large to be read."""
    from asyncstate.analyse.graphviz import LAYOUTS
    from asyncstate.analyse.picture import READABLE, Manner, drawn

    form = options["form"]
    if form != "dot" and len(picture.nodes) > READABLE:
        console.complain(
            f"a picture of {len(picture.nodes)} states is too large to be read",
            hint="Name some SLS, or give --around ID; `asyncstate show impact ID` says what depends on a state.",
        )
    return drawn(picture, Manner(form, every_edge(options), LAYOUTS[options["layout"] or "auto"]))


def write_picture(console: Console, text: str, output: str | None) -> None:
    """Write to a file, or to standard output."""
    if output is None:
        console.write(text)
        return
    from asyncstate.cli.output_file import write_file

    write_file(output, text.encode())
