"""Time zones as files: /usr/share/zoneinfo, /etc/localtime and /etc/timezone."""

from __future__ import annotations

import filecmp
import os
import re
import time
from typing import Any

from asyncstate import filesystem, residue
from asyncstate.dunders import __grains__
from asyncstate.errors import CommandExecutionError, InvocationError

ZONES = "/usr/share/zoneinfo"
LOCALTIME = "/etc/localtime"
NAME_FILE = "/etc/timezone"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+./-]*")


def get_zonecode() -> str:
    """Return the abbreviation of the current time zone."""
    return _now("%Z")


def get_offset() -> str:
    """Return the offset from UTC."""
    return _now("%z")


def path_of(timezone: str) -> str:
    """Return the path of a time zone's file, which need not exist. InvocationError if it is not a possible name."""
    if not _NAME.fullmatch(timezone) or ".." in timezone.split("/"):
        raise InvocationError(f"{timezone!r} is not the name of a time zone")
    return os.path.join(ZONES, timezone)


def read_zone() -> str:
    """Return the name of the time zone: Debian has it in a file, elsewhere /etc/localtime is a link."""
    if __grains__.get("os_family") in {"Debian", "Gentoo"}:
        return _written_name()
    try:
        path = os.path.normpath(os.path.join(os.path.dirname(LOCALTIME), os.readlink(LOCALTIME)))
    except OSError as error:
        raise CommandExecutionError(f"Cannot tell the time zone from {LOCALTIME}: {error.strerror}") from error
    if not path.startswith(f"{ZONES}/"):
        raise CommandExecutionError("Unable to determine timezone")
    return os.path.relpath(path, ZONES)


def compare(timezone: str, current: Any) -> bool:
    """Return whether ``timezone`` equals ``current()``, or if that fails, whether the files are equal."""
    path = path_of(timezone)
    try:
        return bool(timezone == current())
    except CommandExecutionError:
        try:
            return filecmp.cmp(LOCALTIME, path, shallow=False)
        except OSError as error:
            if error.filename == path:
                raise InvocationError(f'Can\'t find a local timezone "{timezone}"') from error
            raise CommandExecutionError(
                f"Failed to read {LOCALTIME} to determine current timezone: {error.strerror}"
            ) from error


def link(timezone: str) -> bool | str:
    """Make /etc/localtime a link to a time zone, and write its name to Debian's file."""
    path = path_of(timezone)
    if not os.path.exists(path):
        return f"Zone does not exist: {path}"
    try:
        with residue.temporary_folder(directory=os.path.dirname(LOCALTIME), prefix=".asyncstate-") as folder:
            new = os.path.join(folder, "localtime")
            os.symlink(path, new)
            os.replace(new, LOCALTIME)
        if __grains__.get("os_family") in {"Debian", "Gentoo"}:
            filesystem.replace_content(NAME_FILE, f"{timezone}\n".encode())
    except OSError as error:
        raise CommandExecutionError(f"Cannot set the time zone: {error.strerror}: {error.filename}") from error
    return True


def _written_name() -> str:
    try:
        with open(NAME_FILE, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError as error:
        raise CommandExecutionError(f"Problem reading timezone file {NAME_FILE}: {error.strerror}") from error


def _now(form: str) -> str:
    """Format the time in the system's zone, which may have changed since this process started."""
    from datetime import UTC, datetime  # noqa: PLC0415 - with zoneinfo
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - nothing else at start needs it

    try:
        with open(LOCALTIME, "rb") as file:
            zone = ZoneInfo.from_file(file)
    except (OSError, ValueError):
        return time.strftime(form, time.gmtime())
    return datetime.now(UTC).astimezone(zone).strftime(form)
