"""The ``system`` execution module: date and time, and the computer's name."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError


def get_system_time(utc_offset: str | None = None) -> str:
    """Return the time of day, ``HH:MM:SS AM``; ``utc_offset`` is like ``+0200``."""
    return _now(utc_offset).strftime("%I:%M:%S %p")


def get_system_date(utc_offset: str | None = None) -> str:
    """Return the date, ``Mon 03/04/2024``."""
    return _now(utc_offset).strftime("%a %m/%d/%Y")


def get_system_date_time(utc_offset: str | None = None) -> str:
    """Return date and time, ``YYYY-MM-DD hh:mm:ss``."""
    return _now(utc_offset).strftime("%Y-%m-%d %H:%M:%S")


def get_computer_name() -> str:
    """Return the host name."""
    return socket.gethostname()


def get_computer_desc() -> str | bool:
    """Return the pretty host name of /etc/machine-info, False without one."""
    try:
        with open("/etc/machine-info", encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError:
        return False
    names = [line.partition("=")[2] for line in lines if line.startswith("PRETTY_HOSTNAME=")]
    return names[-1].strip("'\"").replace('\\"', '"').replace("\\n", "\n") if names else False


def get_reboot_required_witnessed() -> bool:
    """Return whether Debian's package system requires a restart."""
    return os.path.exists("/var/run/reboot-required")


def reboot(at_time: Any = None) -> str:
    """Restart the machine, at once or in ``at_time`` minutes."""
    return _shutdown("-r", at_time)


def shutdown(at_time: Any = None) -> str:
    """Stop the machine, at once or in ``at_time`` minutes."""
    return _shutdown("-h", at_time)


def _shutdown(option: str, at_time: Any) -> str:
    output: str = __salt__["cmd.run"](["shutdown", option, "now" if at_time is None else str(at_time)])
    return output


def _now(utc_offset: str | None) -> datetime:
    if utc_offset is None:
        return datetime.now(UTC).astimezone()
    text = str(utc_offset)
    if len(text) != 5 or text[0] not in "+-" or not text[1:].isdigit():
        raise CommandExecutionError(f"A UTC offset is like +0200, not {text!r}")
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[3:]))
    return datetime.now(timezone(-offset if text[0] == "-" else offset))
