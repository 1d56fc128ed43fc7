"""The ``sysctl`` execution module for BusyBox: its applet, and the file that is read at boot."""

from __future__ import annotations

import logging
from typing import Any

from asyncstate.dunders import __grains__, __salt__
from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces.sysctl import SysctlInterface

from . import _busybox, _sysctl_files

log = logging.getLogger(__name__)

__virtualname__ = SysctlInterface(__name__)()


def __virtual__() -> bool | tuple[bool, str]:
    """Load on Linux where sysctl is BusyBox's."""
    if __grains__.get("kernel") == "Linux" and _busybox.has_applet("sysctl"):
        return True
    return False, "The busybox_sysctl execution module cannot be loaded: sysctl is not BusyBox's."


def default_config() -> str:
    """Return the file that is read at boot."""
    return "/etc/sysctl.conf"


def show(config_file: Any = False) -> Any:
    """Return the current settings, or those of a file: {} if it does not exist, None if it cannot be read."""
    if not config_file:
        lines = str(_sysctl("-a")["stdout"]).splitlines()
        pairs = (line.partition("=") for line in lines if "=" in line)
        return {name.strip(): value.strip() for name, _, value in pairs}
    try:
        return _sysctl_files.settings_of(str(config_file))
    except CommandExecutionError as error:
        log.error("%s", error)  # noqa: TRY400 - the caller says what follows from it
        return None


def get(name: str) -> str:
    """Return the current value, "" for an unknown setting."""
    done = _sysctl("-n", name)
    return "" if done["retcode"] else str(done["stdout"]).strip()


def assign(name: str, value: Any) -> dict[str, str]:
    """Set a value in the kernel. CommandExecutionError if there is no such setting, or the kernel refuses the value."""
    done = _sysctl("-w", f"{name}={value}")
    if done["retcode"]:
        raise CommandExecutionError(f"sysctl -w failed: {done['stderr'] or name}")
    return {name: str(value)}


def persist(name: str, value: Any, config: str | None = None) -> str:
    """Set a value in the kernel and in ``config``: "Updated" or "Already set".

    The kernel is set first, so that a value it refuses does not get into the file.
    """
    return _sysctl_files.persist(config or default_config(), name, value, get, assign)


def _sysctl(*arguments: str) -> dict[str, Any]:
    done: dict[str, Any] = __salt__["cmd.run_all"](["sysctl", *arguments], python_shell=False, ignore_retcode=True)
    return done
