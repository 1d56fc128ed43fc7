"""The variables that a state gives to its commands."""

from __future__ import annotations

from typing import Any


def pairs_of(given: Any) -> tuple[tuple[str, str], ...]:
    """Return names and values of ``env``: a mapping, or a list of mappings and ``NAME=VALUE`` texts.

    Anything else is left out; a name without a value has an empty one.
    """
    if not given:
        return ()
    pairs: dict[str, str] = {}
    for entry in given if isinstance(given, (list, tuple)) else (given,):
        if isinstance(entry, dict):
            pairs.update((str(name), "" if value is None else str(value)) for name, value in entry.items())
        elif isinstance(entry, str):
            name, _, value = entry.partition("=")
            pairs[name] = value
    return tuple(pairs.items())
