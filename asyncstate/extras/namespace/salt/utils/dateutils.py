"""Dates."""

from __future__ import annotations

import datetime as dt
from typing import Any

from asyncstate.data.date import strftime
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else

__all__ = ["date_cast", "strftime", "total_seconds"]


def date_cast(date: Any) -> dt.datetime:
    """Return a date from text in any usual spelling, from a timestamp, or None for now. Raises ValueError."""
    if isinstance(date, dt.datetime):
        return date
    return dt.datetime.fromisoformat(strftime(date, "%Y-%m-%dT%H:%M:%S.%f"))


def total_seconds(td: dt.timedelta) -> float:
    """Return the seconds of a time span."""
    return td.total_seconds()


__getattr__: ModuleGetattr = nothing_else(__name__)
