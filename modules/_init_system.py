"""The init system of this machine, and the scripts in /etc/init.d, which several init systems use."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
from typing import TYPE_CHECKING

from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Callable

INIT_SCRIPTS = "/etc/init.d"
_GLOB = re.compile(r"[*?]|\[.+\]")
_RUNNING_SYSTEMD = "/run/systemd/system"


def checked(name: str) -> str:
    """Return the name of a service. CommandExecutionError if its program would read it as a path or option."""
    if not name or name.startswith("-") or "/" in name or not name.isprintable():
        raise CommandExecutionError(f"{name!r} is not the name of a service")
    return name


def booted_with_systemd() -> bool:
    """Return whether systemd is process 1, as sd_booted(3) does."""
    return os.path.isdir(_RUNNING_SYSTEMD)


def has_systemd() -> bool:
    """Return whether systemd is process 1, or is at least installed, as in an image, a chroot or a container."""
    return booted_with_systemd() or shutil.which("systemctl") is not None


def init_scripts(folder: str = INIT_SCRIPTS) -> list[str]:
    """Return the executable init scripts, sorted."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [name for name in names if os.path.isfile(path := os.path.join(folder, name)) and os.access(path, os.X_OK)]


def ask_each(name: str, everything: Callable[[], list[str]], ask: Callable[[str], bool]) -> bool | dict[str, bool]:
    """Return the answer for a service; for a glob, the answers by name for all services that match."""
    if not _GLOB.search(name):
        return ask(name)
    return {each: ask(each) for each in fnmatch.filter(everything(), name)}
