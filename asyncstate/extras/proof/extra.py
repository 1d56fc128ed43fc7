"""Registration of proofs of order with the engine."""

from __future__ import annotations

from asyncstate.extend import Extra

EXTRA = Extra(
    commands={
        "shake": (
            "Look",
            "Find missing requisites by running the tree in different orders.",
            "asyncstate.extras.proof.commands.shake",
        ),
        "footprints": (
            "Look",
            "Show what states were seen to touch: apply --trace-effects records it.",
            "asyncstate.extras.proof.commands.footprints",
        ),
    },
    effects="asyncstate.extras.proof.trace.learning:learned_effects",
    tracer="asyncstate.extras.proof.trace.traced:RunTracer",
    search="asyncstate.extras.proof.shake.in_process:missing_orders",
)
