"""Registration of the completion of shells with the engine."""

from __future__ import annotations

from asyncstate.extend import Extra

EXTRA = Extra(
    commands={
        "completion": (
            "Shell",
            "Print the completion script of bash, zsh or fish.",
            "asyncstate.extras.completion.command",
        )
    },
    completer="asyncstate.extras.completion.values:complete",
    shells="asyncstate.extras.completion.shell:answer",
)
