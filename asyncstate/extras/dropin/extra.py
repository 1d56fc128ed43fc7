"""Registration of the salt-call replacement with the engine."""

from __future__ import annotations

from asyncstate.extend import Extra

EXTRA = Extra(
    commands={
        "salt-call": (
            "Run",
            "Do what Salt's salt-call does: the same options, functions, outputs and exit codes.",
            "asyncstate.extras.dropin.command",
        )
    }
)
