"""Registration of fleets with the engine."""

from __future__ import annotations

from asyncstate.extend import Extra

EXTRA = Extra(
    commands={
        "fleet": (
            "Fleet",
            "Runs across many hosts: the server between them, and credentials.",
            "asyncstate.extras.fleet.commands",
        )
    },
    settings="asyncstate.extras.fleet.settings:FleetSettings",
    options="fleet/options.yaml",
    codes="fleet/codes.yaml",
)
