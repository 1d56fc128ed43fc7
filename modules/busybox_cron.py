"""The ``cron`` execution module for BusyBox: its applets crontab and crond.

Crontabs have the usual form. But BusyBox's crond knows only a few variables: it reads a line that sets another one as
an invalid job, and ignores it. So a variable that would be ignored is refused.
"""

from __future__ import annotations

from typing import Any

from asyncstate.interfaces.cron import CronInterface

from . import _busybox, cron
from .cron import (
    get_entry,
    list_tab,
    ls,
    raw_cron,
    rm,
    rm_env,
    rm_job,
    rm_special,
    set_job,
    set_special,
    write_cron_file,
    write_cron_file_verbose,
)

__virtualname__ = CronInterface(__name__)()

__all__ = [
    "get_entry",
    "list_tab",
    "ls",
    "raw_cron",
    "rm",
    "rm_env",
    "rm_job",
    "rm_special",
    "set_env",
    "set_job",
    "set_special",
    "write_cron_file",
    "write_cron_file_verbose",
]

_KNOWN_VARIABLES = ("MAILTO", "SHELL")


def __virtual__() -> bool | tuple[bool, str]:
    """Load if crontab is BusyBox's."""
    if _busybox.has_applet("crontab"):
        return True
    return False, "Cannot load busybox_cron module: crontab is not BusyBox's"


def set_env(user: str, name: str, value: Any = None) -> str:
    """Set a variable of a crontab: "new", "updated", "present", or an error message for one crond does not know."""
    if name not in _KNOWN_VARIABLES:
        return f"BusyBox's crond knows no variable {name}, only {', '.join(_KNOWN_VARIABLES)}: set it in the command"
    return cron.set_env(user, name, value)
