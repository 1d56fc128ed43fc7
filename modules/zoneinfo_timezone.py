"""The ``timezone`` execution module for systems without systemd: files in /etc."""

from __future__ import annotations

import os
import re
import shutil
from typing import Any

from asyncstate import filesystem
from asyncstate.errors import CommandExecutionError, InvocationError
from asyncstate.interfaces.timezone import TimezoneInterface

from . import _init_system, _zoneinfo
from ._zoneinfo import get_offset, get_zonecode

__virtualname__ = TimezoneInterface(__name__)()

__all__ = ["get_hwclock", "get_offset", "get_zone", "get_zonecode", "set_hwclock", "set_zone", "zone_compare"]

_RCS = "/etc/default/rcS"
_ADJTIME = "/etc/adjtime"
_CLOCK_DEVICE = "/dev/rtc"
_UTC_SETTING = re.compile(r"^UTC=.*", re.MULTILINE)
_ADJTIME_CLOCK = re.compile(r"^(UTC|LOCAL)$", re.MULTILINE)
_NEW_ADJTIME = "0.0 0 0.0\n0\n{}\n"


def __virtual__() -> bool | tuple[bool, str]:
    """Load unless timedatectl is used."""
    if _init_system.booted_with_systemd() and shutil.which("timedatectl"):
        return False, "timezone: systemd runs, timedatectl sets the time zone"
    return True


def get_zone() -> str:
    """Return the name of the time zone."""
    return _zoneinfo.read_zone()


def zone_compare(timezone: str) -> bool:
    """Return whether this is the time zone; by the content of /etc/localtime if no file has its name."""
    return _zoneinfo.compare(timezone, get_zone)


def set_zone(timezone: str) -> Any:
    """Make /etc/localtime a link to a time zone; return True, or a message if there is no such zone."""
    return _zoneinfo.link(timezone)


def get_hwclock() -> str | None:
    """Return the hardware clock's zone from /etc/default/rcS or the last line of /etc/adjtime, else "UTC"."""
    setting = _UTC_SETTING.search(_text(_RCS))
    if setting:
        return "UTC" if setting[0].partition("=")[2].lower() == "yes" else "localtime"
    lines = _text(_ADJTIME).splitlines()
    if lines:
        return "localtime" if lines[-1] == "LOCAL" else lines[-1]
    return "UTC" if os.path.exists(_CLOCK_DEVICE) else None


def set_hwclock(clock: str) -> bool:
    """Write the hardware clock's zone, "UTC" or "localtime", to the file; the clock itself is not changed."""
    if clock not in {"UTC", "localtime"}:
        raise InvocationError("Only 'UTC' and 'localtime' are allowed")
    is_utc = clock == "UTC"
    if _UTC_SETTING.search(_text(_RCS)):
        _write(_RCS, _UTC_SETTING.sub(f"UTC={'yes' if is_utc else 'no'}", _text(_RCS)))
    word = "UTC" if is_utc else "LOCAL"
    old = _text(_ADJTIME)
    new = _ADJTIME_CLOCK.sub(word, old) if _ADJTIME_CLOCK.search(old) else _NEW_ADJTIME.format(word)
    if new != old:
        _write(_ADJTIME, new)
    return True


def _text(path: str) -> str:
    try:
        with filesystem.open_text(path, errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    try:
        filesystem.replace_content(filesystem.resolved(path), text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise CommandExecutionError(f"Cannot write {path}: {error.strerror}") from error
