"""Registration of the documentation with the engine."""

from __future__ import annotations

from asyncstate.extend import Extra

_COMMANDS = "asyncstate.extras.manual.commands"

EXTRA = Extra(
    commands={
        "doc": ("Look", "Read the documentation of states and execution modules.", f"{_COMMANDS}.doc"),
        "smi": ("Look", "Check virtual modules such as pkg or user against their interfaces.", f"{_COMMANDS}.smi"),
        "schema": (
            "Look",
            "Print the JSON Schema of configuration, plans, events or reports.",
            f"{_COMMANDS}.schema",
        ),
    },
    judge="asyncstate.extras.manual.offer:judge",
    manual="asyncstate.extras.manual.offer:MANUAL",
)
