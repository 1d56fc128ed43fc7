"""``retry``: the number of attempts, the pause between them, and the result that ends them."""

from __future__ import annotations

import random
from typing import Any

import msgspec

_SECONDS = ("interval", "splay")
_LONGEST = 10**9


class RetryPolicy(msgspec.Struct, frozen=True):
    """``attempts`` counts every call, the first included; ``interval`` and ``splay`` are seconds."""

    until: bool = True
    attempts: int = 2
    interval: int = 30
    splay: int = 0

    @classmethod
    def parse(cls, value: Any) -> tuple[RetryPolicy, list[str]]:
        """Parse the SLS value as Salt does: a value of the wrong type counts as absent, with a warning."""
        if value is False:
            return cls(attempts=0), []
        if value is True:
            return cls(), []
        if not isinstance(value, dict):
            return cls(), ["retry is neither True nor a mapping: the defaults are used"]
        settings, warnings = {}, []
        for key, kind in (("until", bool), ("attempts", int), ("interval", int), ("splay", int)):
            if key not in value:
                continue
            if not isinstance(value[key], kind):
                warnings.append(f"retry: {key} should be of type {kind.__name__}: the default is used")
            elif key in _SECONDS and not 0 <= value[key] <= _LONGEST:
                warnings.append(f"retry: {key} should be from 0 to {_LONGEST} seconds: the default is used")
            else:
                settings[key] = value[key]
        return cls(**settings), warnings

    def pause(self) -> float:
        """Return the seconds until the next attempt."""
        return self.interval + (random.randint(0, self.splay) if self.splay else 0)  # noqa: S311 - spreads load

    def forecast(self) -> str:
        """Return the comment of test mode on this policy."""
        return (
            f"The state would be retried every {self.interval} seconds (with a splay of up to {self.splay} seconds) "
            f"a maximum of {self.attempts} times or until a result of {self.until} is returned"
        )
