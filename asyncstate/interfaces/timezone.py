"""The interface of ``timezone``: the system's time zone and hardware clock."""

from __future__ import annotations

from typing import Any

from asyncstate.interfaces import Interface


class TimezoneInterface(Interface):
    """The time zone of the system, and whether the hardware clock runs in it or in UTC."""

    __modulename__ = "timezone"

    def get_zone(self) -> str:
        """Return the name of the time zone, such as ``Europe/Berlin``. Raises CommandExecutionError if unknown."""
        return ""

    def get_zonecode(self) -> str:
        """Return the abbreviation that applies now, such as ``CEST``."""
        return ""

    def get_offset(self) -> str:
        """Return how far the time is ahead of UTC, such as ``+0200``."""
        return ""

    def set_zone(self, timezone: str) -> Any:
        """Set the time zone; returns True, or the reason of a failure as text."""
        return None

    def zone_compare(self, timezone: str) -> bool:
        """Return whether this is the time zone."""
        return True

    def get_hwclock(self) -> Any:
        """Return "UTC" or "localtime", None without a hardware clock."""
        return None

    def set_hwclock(self, clock: str) -> bool:
        """Let the hardware clock run in "UTC" or in "localtime"."""
        return True
