"""Registration of fleets with the engine."""

from __future__ import annotations

from asyncstate.extend import Command, Extra

EXTRA = Extra(
    commands={
        "fleet": Command(
            "Fleet",
            "Runs across many hosts: the server between them, and credentials.",
            "asyncstate.extras.fleet.commands",
        )
    },
    settings="asyncstate.extras.fleet.settings:FleetSettings",
    options="fleet/options.yaml",
    codes="fleet/codes.yaml",
)
