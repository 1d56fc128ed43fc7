"""Registration of the analysis of plans and runs with the engine."""

from __future__ import annotations

from asyncstate.extend import Extra

_COMMANDS = "asyncstate.extras.analyse.commands"

EXTRA = Extra(
    commands={
        "explain": (
            "Look",
            "Explain when a state runs, and what it depends on; or what the code of a mistake means.",
            f"{_COMMANDS}.explain",
        ),
        "lint": (
            "Look",
            "Find states that keep their order without a requisite, and probable mistakes.",
            f"{_COMMANDS}.lint",
        ),
        "bench": (
            "Look",
            "Show where the time of a tree goes, and what would help: a dry run.",
            f"{_COMMANDS}.bench",
        ),
        "what-if": (
            "Past runs",
            "Show how long a past run would have taken with more or fewer states at once.",
            f"{_COMMANDS}.what_if",
        ),
        "runs diff": (
            "Past runs",
            "Compare two runs: states that are new or gone, results, changes, comments, and times beyond noise.",
            f"{_COMMANDS}.runs_diff",
        ),
        "show aggregate": (
            "Look",
            "Show which states are aggregated, and why the others are not.",
            f"{_COMMANDS}.aggregate",
        ),
        "show impact": (
            "Look",
            "Show what may run, restart, fail or be skipped because of a state.",
            f"{_COMMANDS}.impact",
        ),
        "show diff": (
            "Look",
            "Show how a saved plan differs from a later one, or from the tree.",
            f"{_COMMANDS}.diff",
        ),
    },
    analysis="asyncstate.extras.analyse.offer:ANALYSIS",
    remaining="asyncstate.extras.analyse.remaining_time:RemainingTime",
)
