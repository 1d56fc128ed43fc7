"""The ``service`` execution module of OpenRC: Gentoo, Alpine Linux and other systems that boot with it."""

from __future__ import annotations

import os
import re
import shutil
from typing import Any

from asyncstate.dunders import __grains__, __salt__
from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces.service import ServiceInterface

from . import _init_system
from ._init_system import ask_each, booted_with_systemd, checked

__virtualname__ = ServiceInterface(__name__)()
__smi_grains__ = {"os": "Gentoo", "os_family": "Gentoo", "init": "openrc"}
__func_alias__ = {"reload_": "reload"}

_SCRIPTS = "/etc/init.d"
_USUAL_RUNLEVEL = "default"
_ROW = re.compile(r"^\s*(\S+) \|(.*)$")


def __virtual__() -> Any:
    if not booted_with_systemd():
        if __grains__.get("os_family") == "Gentoo" or __grains__.get("os") in {"Gentoo", "Alpine"}:
            return __virtualname__
        if __grains__.get("init") == "openrc" and shutil.which("rc-service"):
            return __virtualname__
    return False, "The gentoo_service execution module cannot be loaded: only available on Gentoo/Open-RC systems."


def start(name: str) -> bool:
    """Start a service; True if its script reported success."""
    return _script(name, "start")


def stop(name: str) -> bool:
    """Stop a service; True if its script reported success."""
    return _script(name, "stop")


def restart(name: str) -> bool:
    """Stop and start a service, and the services that need it."""
    return _script(name, "restart")


def reload_(name: str) -> bool:
    """Make a service reload its configuration."""
    return _script(name, "reload")


def force_reload(name: str) -> bool:
    """Make a service reload its configuration; restart it if its script cannot."""
    return _script(name, "reload") or _script(name, "restart")


def zap(name: str) -> bool:
    """Reset a service to stopped in OpenRC, for one that crashed."""
    return _script(name, "zap")


def status(name: str, sig: str | None = None) -> Any:
    """Return whether a service runs; for a glob, the answer for each service.

    With ``sig``, return whether a command line matches that regular expression instead.
    """
    if sig:
        return bool(__salt__["status.pid"](sig))
    return ask_each(name, get_all, lambda each: _script(each, "status", ignore_retcode=True))


def enable(name: str, **kwargs: Any) -> bool:
    """Start a service at boot, in ``runlevels`` (one, or a list; "default"). CommandExecutionError if it fails."""
    missing_levels = [level for level in _levels(kwargs) if level not in _enabled().get(name, ())]
    return _rc_update("add", name, missing_levels)


def disable(name: str, **kwargs: Any) -> bool:
    """Do not start a service at boot, in ``runlevels`` (one, or a list; all). CommandExecutionError if it fails."""
    current = _enabled().get(name, [])
    levels = _levels(kwargs) if kwargs.get("runlevels") else current
    return _rc_update("delete", name, [level for level in levels if level in current])


def enabled(name: str, **kwargs: Any) -> bool:
    """Return whether a service is started at boot: in all of ``runlevels`` if given, else in any."""
    current = _enabled().get(name, [])
    return set(_levels(kwargs)) <= set(current) if kwargs.get("runlevels") else bool(current)


def disabled(name: str, **kwargs: Any) -> bool:
    """Return whether a service is not started at boot."""
    return not enabled(name, **kwargs)


def available(name: str) -> bool:
    """Return whether there is such a service."""
    return name in get_all()


def missing(name: str) -> bool:
    """Return whether there is no such service."""
    return not available(name)


def get_all(**kwargs: Any) -> list[str]:
    """Return all services, sorted."""
    return [name for name in _init_system.init_scripts(_SCRIPTS) if not name.endswith(".sh")]


def get_enabled(**kwargs: Any) -> list[str]:
    """Return the services that are started at boot, sorted."""
    return sorted(_enabled())


def get_disabled(**kwargs: Any) -> list[str]:
    """Return the services that are not started at boot, sorted."""
    return sorted({*get_all()} - {*_enabled()})


def _script(name: str, action: str, **options: Any) -> bool:
    if not name or os.path.basename(name) != name:
        return False
    done = __salt__["cmd.run_all"]([os.path.join(_SCRIPTS, name), action], python_shell=False, **options)
    return bool(done["retcode"] == 0)


def _rc_update(action: str, name: str, levels: list[str]) -> bool:
    if not levels:
        return True
    done = __salt__["cmd.run_all"](["rc-update", action, checked(name), *map(checked, levels)], python_shell=False)
    if done["retcode"]:
        raise CommandExecutionError(done["stderr"] or done["stdout"] or f"rc-update {action} {name} failed")
    return True


def _enabled() -> dict[str, list[str]]:
    """Return the runlevels of each service that is in any."""
    done = __salt__["cmd.run_all"](["rc-update", "-v", "show"], python_shell=False, ignore_retcode=True)
    rows = {match[1]: match[2].split() for match in map(_ROW.match, str(done["stdout"]).splitlines()) if match}
    return {name: levels for name, levels in rows.items() if levels}


def _levels(kwargs: dict[str, Any]) -> list[str]:
    levels = kwargs.get("runlevels") or _USUAL_RUNLEVEL
    return [levels] if isinstance(levels, str) else [str(level) for level in levels]
