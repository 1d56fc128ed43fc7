"""The options that commands of a fleet share which show a run."""

from __future__ import annotations

from typing import Any

import click

from asyncstate.cli.fleet.connection import connection_options
from asyncstate.cli.framework import option
from asyncstate.cli.options import config_file_options, data_option

progress_option = option(
    "--progress",
    section="Output",
    default="auto",
    type=click.Choice(["auto", "live", "plain", "none"]),
    help="Show progress on standard error: a live display on a terminal, else a line for each host that ends, unless "
    "the answer is data (auto).",
)


def run_options(function: Any) -> Any:
    """Add the options of every command that shows a run: where the server is, and how the run is shown."""
    for decorate in (data_option("human", "json", "jsonl"), config_file_options, connection_options):
        function = decorate(function)
    return function
