"""The ``timezone`` states: the time zone of the system, with Salt's arguments and rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import Row, __salt__, failed, is_dry_run, make_row, unchanged, would_change
from asyncstate.errors import CommandExecutionError, InvocationError

if TYPE_CHECKING:
    from collections.abc import Mapping

_ZONES = "/usr/share/zoneinfo"
_FILES = ("localtime", "timezone", "adjtime", "default/rcS")


def __virtual__() -> Any:
    if "timezone.get_zone" in __salt__:
        return True
    return False, "timezone module could not be loaded"


def system(name: str, utc: bool = True) -> Row:
    """Make sure that ``name`` is the time zone of the system, and with ``utc`` that the hardware clock runs in UTC.

    ::

        Europe/Berlin:
          timezone.system
    """
    try:
        zone_is_right = __salt__["timezone.zone_compare"](name)
    except (InvocationError, CommandExecutionError) as error:
        return failed(name, f"Unable to compare desired timezone '{name}' to system timezone: {error}")
    set_clock = bool(utc) and __salt__["timezone.get_hwclock"]() == "localtime"
    if zone_is_right and not set_clock:
        fine = [f"Timezone {name} already set", *([f"UTC already set to {name}"] if utc else [])]
        return unchanged(name, ", ".join(fine))
    path = os.path.join(_ZONES, name)
    if not zone_is_right and filesystem.foretells() and not os.path.exists(path):
        return failed(name, f"Failed to set timezone: Zone does not exist: {path}")
    if is_dry_run():
        steps = [] if zone_is_right else [f"Timezone {name} needs to be set"]
        steps += [f"UTC needs to be set to {utc}"] if set_clock else []
        return would_change(name, ", ".join(steps))
    changes: dict[str, Any] = {}
    comments = [] if zone_is_right else [_set_zone(name, changes)]
    if set_clock:
        comments.append(_set_clock(utc, changes))
    done = len(changes) == len(comments)
    return make_row(name, ", ".join(comments), changes, result=done)


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of a timezone state: the one time zone, and its files, which a package may install."""
    reads = [f"path:{_ZONES}"]
    return {"reads": reads, "writes": [f"path:/etc/{file}" for file in _FILES]}


def _set_zone(name: str, changes: dict[str, Any]) -> str:
    done = __salt__["timezone.set_zone"](name)
    if done is True:
        changes["timezone"] = name
        return f"Set timezone {name}"
    return f"Failed to set timezone: {done}" if done else "Failed to set timezone"


def _set_clock(utc: bool, changes: dict[str, Any]) -> str:
    if __salt__["timezone.set_hwclock"]("UTC"):
        changes["utc"] = utc
        return f"Set UTC to {utc}"
    return f"Failed to set UTC to {utc}"
