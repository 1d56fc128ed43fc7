"""Options of the commands that draw a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import option
from asyncstate.cli.options import together

if TYPE_CHECKING:
    from collections.abc import Callable


picture_options: Callable[[Any], Any] = together(
    option(
        "--format",
        "form",
        default="dot",
        type=click.Choice(["dot", "mermaid", "html", "svg", "json"]),
        help="dot (default) for Graphviz, mermaid for Markdown, html for a browser, svg drawn by Graphviz where it "
        "is installed, json for programs.",
    ),
    option(
        "--edges",
        type=click.Choice(["needed", "all"]),
        help="needed (default in pictures): without edges that follow from others. all (default in json): every edge.",
    ),
    option(
        "--output",
        type=click.Path(dir_okay=False),
        help="Write to FILE instead of standard output.",
    ),
)
"""The options for the drawing of a graph."""
