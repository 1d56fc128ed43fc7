"""Refresh of the package lists, once in a run."""

from __future__ import annotations

from typing import Any

from asyncstate.dunders import __context__

_REFRESH_PENDING = "pkg.refresh"


def plan_refresh() -> None:
    """Let the first state that needs fresh lists of packages refresh them, once in this run."""
    __context__[_REFRESH_PENDING] = True


def refresh_wanted(refresh: Any) -> bool:
    """Return whether to refresh the lists: the argument of the state, or whether no state has done so in this run."""
    if isinstance(refresh, str):
        refresh = refresh.strip().lower() in {"true", "yes", "on", "1"}
    if refresh is None:
        return bool(__context__.get(_REFRESH_PENDING))
    return bool(refresh)
