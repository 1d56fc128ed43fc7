"""The roll-out options of ``asyncstate fleet apply``: the order and the number of hosts under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import option
from asyncstate.extras.fleet.commands.completion import complete_target

if TYPE_CHECKING:
    from asyncstate.config import Settings
    from asyncstate.extras.fleet.protocol import Rollout


def rollout_options(function: Any) -> Any:
    """Add the options of a roll-out."""
    decorators = (
        option(
            "--batch",
            section="Run",
            metavar="N|P%",
            help="Number or share of hosts at once, such as 2 or 10%. Default: all, or what `fleet_batch` says.",
        ),
        option(
            "--canary",
            section="Run",
            metavar="EXPR",
            shell_complete=complete_target,
            default="",
            help="Hosts to start with, as a target. The others begin once all of these have ended without failure.",
        ),
        option(
            "--max-failures",
            section="Run",
            metavar="N|P%",
            help="Start nothing more once more than this many hosts have failed. Default: go on, or "
            "`fleet_max_failures`.",
        ),
        option(
            "--lane",
            "lanes",
            section="Run",
            multiple=True,
            metavar="NAME=N",
            help="Number of states with this fleet_lane that run at once across all hosts; repeatable. Default: one, "
            "or what `fleet_lanes` says.",
        ),
    )
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


def rollout_of(options: dict[str, Any], settings: Settings) -> Rollout:
    """Return the roll-out of the options and the configuration."""
    from asyncstate.extras.fleet.protocol import Rollout
    from asyncstate.extras.fleet.settings import FleetSettings, Hosts, SomeHosts

    configured = settings.of(FleetSettings)
    batch, most = options["batch"], options["max_failures"]
    _require_count("--batch", batch, SomeHosts)
    _require_count("--max-failures", most, Hosts)
    return Rollout(
        batch=str(configured.fleet_batch) if batch is None else batch,
        canary=options["canary"],
        max_failures=str(configured.fleet_max_failures) if most is None else most,
        lanes={**configured.fleet_lanes, **lanes_of(options)},
    )


def lanes_of(options: dict[str, Any]) -> dict[str, int]:
    """Return the widths of the lanes in the options. Raises BadParameter."""
    return dict(map(_lane, options["lanes"]))


def _require_count(option: str, text: str | None, wanted: Any) -> None:
    """Raise UsageError for a text that is not a number of hosts, before any host is asked."""
    from asyncstate.errors import FleetError
    from asyncstate.extras.fleet.settings import require_number

    try:
        if text:
            require_number(option, text, wanted)
    except FleetError as error:
        raise click.UsageError(str(error)) from None


def _lane(text: str) -> tuple[str, int]:
    name, _, places = text.rpartition("=")
    if not name or not places.isdecimal() or not int(places):
        raise click.BadParameter(f"{text!r} is no lane with its number of places, migrations=2", param_hint="--lane")
    return name, int(places)
