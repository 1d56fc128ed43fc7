"""Registration of pages and drawings with the engine."""

from __future__ import annotations

from asyncstate.extend import Extra

EXTRA = Extra(
    commands={
        "show graph": (
            "Look",
            "Show which states wait for which.",
            "asyncstate.extras.picture.commands.graph",
        ),
    },
    pictures="asyncstate.extras.picture.offer:PICTURES",
)
