"""The ``service`` execution module of a Debian system without systemd: which init scripts there are, and run."""

from __future__ import annotations

import glob
import os
import re

from asyncstate.dunders import __grains__, __salt__

from . import _service_queries

__virtualname__ = "service"

_SINGLE_USER_BOOT = "S"
_DEFAULT_RUNLEVEL = "2"
_LINK = re.compile(r"^[SK]\d{1,2}")


def __virtual__() -> str | tuple[bool, str]:
    """Load on Debian and its kin, unless systemd is in charge."""
    if __grains__.get("os_family") != "Debian":
        return False, "The debian_service module could not be loaded: unsupported OS family"
    if _service_queries.systemd_runs():
        return False, "The debian_service module could not be loaded: systemd runs this system"
    return __virtualname__


def get_all() -> list[str]:
    """Return every service that has an init script or a link in a runlevel, sorted."""
    scripts = {os.path.basename(path) for path in glob.glob("/etc/init.d/*") if os.access(path, os.X_OK)}
    return sorted((scripts | _linked("[S0-6]")) - {"README", "rc", "rcS", "skeleton"})


def get_enabled() -> list[str]:
    """Return the services that the current runlevel starts, sorted."""
    return sorted(_linked(f"[{_SINGLE_USER_BOOT}{_runlevel()}]", "S"))


def get_disabled() -> list[str]:
    """Return the services that are there but not started at boot, sorted."""
    return sorted(set(get_all()) - set(get_enabled()))


def available(name: str) -> bool:
    """Return whether there is such a service."""
    return name in get_all()


def missing(name: str) -> bool:
    """Return whether there is no such service."""
    return name not in get_all()


def enabled(name: str, **_: object) -> bool:
    """Return whether a service is started at boot."""
    return name in get_enabled()


def disabled(name: str) -> bool:
    """Return whether a service is there and not started at boot."""
    return name in get_disabled()


def status(name: str, sig: str | None = None) -> bool | dict[str, bool]:
    """Return whether a service runs; of a shell pattern, a dict. ``sig`` is looked for among the processes instead."""
    if sig:
        return bool(__salt__["cmd.retcode"](["pgrep", "-f", "--", sig], ignore_retcode=True) == 0)
    return _service_queries.each(name, get_all, _runs)


def _runs(name: str) -> bool:
    return bool(__salt__["cmd.retcode"](["service", name, "status"], python_shell=False, ignore_retcode=True) == 0)


def _linked(levels: str, start: str = "[SK]") -> set[str]:
    links = (os.path.basename(path) for path in glob.glob(f"/etc/rc{levels}.d/{start}*"))
    return {_LINK.sub("", link) for link in links if _LINK.match(link)}


def _runlevel() -> str:
    """Return the current runlevel; Debian's default where nothing knows, as in a container."""
    words = __salt__["cmd.run_stdout"](["runlevel"], python_shell=False, ignore_retcode=True).split()
    return words[1] if len(words) > 1 and words[1].isdigit() else _DEFAULT_RUNLEVEL
