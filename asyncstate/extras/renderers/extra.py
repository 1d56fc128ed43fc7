"""Registration of renderers with the engine."""

from __future__ import annotations

from asyncstate.extend import Extra

EXTRA = Extra(
    renderers={
        "pyobjects": (
            "Run a Python program, and take the states that its objects declare.",
            "asyncstate.extras.renderers.pyobjects:render",
        ),
        "stateconf": (
            "Read YAML with the goals and the private IDs of stateconf.",
            "asyncstate.extras.renderers.stateconf:render",
        ),
    }
)
