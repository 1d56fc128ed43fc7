"""The ``sysctl`` execution module for Linux: /proc/sys, and the file that is read at boot."""

from __future__ import annotations

import logging
import os
from typing import Any

from asyncstate.dunders import __grains__
from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces.sysctl import SysctlInterface

from . import _busybox, _sysctl_files

log = logging.getLogger(__name__)

__virtualname__ = SysctlInterface(__name__)()

_PROC = "/proc/sys"
_SYSTEMD = "/run/systemd/system"


def __virtual__() -> bool | tuple[bool, str]:
    """Load on Linux, unless sysctl is BusyBox's."""
    if __grains__.get("kernel") == "Linux" and not _busybox.has_applet("sysctl"):
        return True
    return False, "The linux_sysctl execution module cannot be loaded: only available on Linux systems without BusyBox."


def default_config() -> str:
    """Return the file that is read at boot: systemd ignores /etc/sysctl.conf."""
    return "/etc/sysctl.d/99-salt.conf" if os.path.isdir(_SYSTEMD) else "/etc/sysctl.conf"


def show(config_file: Any = False) -> Any:
    """Return the current settings, or those of a file: {} if it does not exist, None if it cannot be read."""
    if not config_file:
        return _in_force()
    try:
        return _sysctl_files.settings_of(str(config_file))
    except CommandExecutionError as error:
        log.error("%s", error)  # noqa: TRY400 - the caller says what follows from it
        return None


def get(name: str) -> str:
    """Return the current value, "" for an unknown setting."""
    try:
        with open(_path(name), encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except (OSError, CommandExecutionError):
        return ""


def assign(name: str, value: Any) -> dict[str, str]:
    """Set a value in the kernel. CommandExecutionError if there is no such setting, or the kernel refuses the value."""
    path = _path(name)
    if not os.path.isfile(path):
        raise CommandExecutionError(f"sysctl {name} does not exist")
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{value}\n")
    except OSError as error:
        raise CommandExecutionError(f"sysctl -w failed: {name}: {error.strerror}") from error
    return {name: str(value)}


def persist(name: str, value: Any, config: str | None = None) -> str:
    """Set a value in the kernel and in ``config``: "Updated" or "Already set".

    The kernel is set first, so that a value it refuses does not get into the file.
    """
    return _sysctl_files.persist(config or default_config(), name, value, get, assign)


def _path(name: str) -> str:
    """Return the path of a setting below /proc/sys: the first dot or slash decides which of them is the separator."""
    first = next((mark for mark in name if mark in "./"), ".")
    relative = name.translate(str.maketrans("./", "/.")) if first == "." else name
    path = os.path.normpath(os.path.join(_PROC, relative))
    if not path.startswith(f"{_PROC}/"):
        raise CommandExecutionError(f"{name!r} is not the name of a setting")
    return path


def _in_force() -> dict[str, str]:
    found = {}
    for folder, _, names in os.walk(_PROC):
        for file in names:
            path = os.path.join(folder, file)
            name = os.path.relpath(path, _PROC).translate(str.maketrans("./", "/."))
            if os.access(path, os.R_OK):
                found[name] = get(name)
    return found
