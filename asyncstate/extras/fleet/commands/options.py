"""Options shared by the fleet commands that show a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import option
from asyncstate.cli.options import (
    config_file_options,
    config_options,
    display_options,
    driving_options,
    one_run_options,
    retold,
    together,
)

if TYPE_CHECKING:
    from collections.abc import Callable

progress_option: Callable[[Any], Any] = option(
    "--progress",
    default="auto",
    type=click.Choice(["auto", "live", "plain", "none"]),
    help="Show progress on standard error: a live display on a terminal, else a line for each host that ends, unless "
    "the answer is data or -q is given (auto).",
)


def deadline_option(where: str = "") -> Callable[[Any], Any]:
    """Declare ``--deadline``; ``where`` limits its meaning in the help text."""
    return option(
        "--deadline",
        section="Run",
        metavar="SECONDS",
        type=click.FloatRange(min=0, min_open=True),
        default=60.0,
        help=f"Time limit for the answers of hosts{where} (60).",
    )


def patience_option(more: str = "") -> Callable[[Any], Any]:
    """Declare ``--patience``; ``more`` is appended to the help text."""
    return option(
        "--patience",
        section="Run",
        metavar="SECONDS",
        type=click.FloatRange(min=0, min_open=True),
        default=600.0,
        help=f"How long hosts wait for a silent operator{more} (600).",
    )


_report_option = retold(
    one_run_options,
    {
        "--report": "Write the run as one HTML page: a lane for each host, the critical path across hosts, every diff. "
        "Needs no network."
    },
)


compile_options: Callable[[Any], Any] = together(
    option(
        "--exclude",
        section="Selection",
        multiple=True,
        metavar="NAME",
        help="Leave out an SLS (NAME or sls:NAME) or an ID (id:NAME); repeatable.",
    ),
    option("--saltenv", section="Tree", metavar="ENV", help="Environment of the SLS files."),
    retold(
        config_options,
        {
            "--pillar": "Pillar data, merged over that of each host. No secrets: the server and the hosts keep it with "
            "the offer."
        },
    ),
)
"""The options of compilation on each host: exclusions, the environment, pillar data."""

attending_options: Callable[[Any], Any] = together(progress_option, driving_options)
"""The options of commands that follow a run to its end: signals, and output for other programs."""

RUN_FORMS = ("human", "github", "json", "jsonl")
"""The forms of every command that shows a run."""

run_options: Callable[[Any], Any] = together(
    config_file_options,
    display_options,
    _report_option,
)
"""The options of every command that shows a run: the form of the output."""
