"""Days since 1970, the unit of the ages of accounts and passwords."""

from __future__ import annotations

from datetime import date
from typing import Any


def days_since_1970(value: Any) -> int:
    """Return a number of days, or a date YYYY-MM-DD, as days since 1970; -1 (none) for anything negative.

    Raises ValueError, with a sentence as message, for anything else.
    """
    if isinstance(value, str) and value.count("-") == 2:
        try:
            return (date.fromisoformat(value) - date(1970, 1, 1)).days
        except ValueError as error:
            raise ValueError(f"{value!r} is no date: {error}") from error
    try:
        return max(-1, int(value))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{value!r} is no number of days") from None
