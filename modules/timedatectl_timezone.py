"""The ``timezone`` execution module for systemd: the program timedatectl."""

from __future__ import annotations

import os
import re
import shutil
from typing import Any

from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError, InvocationError
from asyncstate.interfaces.timezone import TimezoneInterface

from . import _init_system, _zoneinfo
from ._zoneinfo import get_offset, get_zonecode

__virtualname__ = TimezoneInterface(__name__)()

__all__ = ["get_hwclock", "get_offset", "get_zone", "get_zonecode", "set_hwclock", "set_zone", "zone_compare"]

_ZONE = re.compile(r"^\s*Time ?zone:\s+(\S+)", re.MULTILINE)
_CLOCK = re.compile(r"^\s*RTC in local TZ:\s*(\S+)", re.MULTILINE | re.IGNORECASE)


def __virtual__() -> bool | tuple[bool, str]:
    """Load if systemd runs: timedatectl needs its service."""
    if _init_system.booted_with_systemd() and shutil.which("timedatectl"):
        return True
    return False, "timezone: systemd does not run, or there is no timedatectl"


def get_zone() -> str:
    """Return the name of the time zone."""
    return _asked(_ZONE)


def zone_compare(timezone: str) -> bool:
    """Return whether this is the time zone."""
    return _zoneinfo.compare(timezone, get_zone)


def set_zone(timezone: str) -> Any:
    """Set the time zone, and Debian's file with its name; return True, or a message if there is no such zone."""
    path = _zoneinfo.path_of(timezone)
    if not os.path.exists(path):
        return f"Zone does not exist: {path}"
    done = __salt__["cmd.run_all"](["timedatectl", "set-timezone", timezone], python_shell=False)
    return True if done["retcode"] == 0 and get_zone() == timezone else _zoneinfo.link(timezone)


def get_hwclock() -> str:
    """Return "UTC" or "localtime"."""
    return "localtime" if _asked(_CLOCK).lower() == "yes" else "UTC"


def set_hwclock(clock: str) -> bool:
    """Make the hardware clock run in "UTC" or in "localtime"."""
    if clock not in {"UTC", "localtime"}:
        raise InvocationError("Only 'UTC' and 'localtime' are allowed")
    command = ["timedatectl", "set-local-rtc", "true" if clock == "localtime" else "false"]
    return bool(__salt__["cmd.retcode"](command, python_shell=False) == 0)


def _asked(question: re.Pattern[str]) -> str:
    answer = __salt__["cmd.run_all"](["timedatectl"], python_shell=False)
    if answer["retcode"] != 0:
        raise CommandExecutionError(f"timedatectl failed: {answer['stderr']}")
    found = question.search(answer["stdout"])
    if found is None:
        raise CommandExecutionError(f"Failed to parse timedatectl output: {answer['stdout']}")
    return found[1]
