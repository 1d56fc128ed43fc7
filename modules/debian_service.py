"""The ``service`` execution module of Debian and its derivatives without systemd: ``service``, ``update-rc.d``."""

from __future__ import annotations

import glob
import os
import re
from typing import Any

from asyncstate.dunders import __grains__, __salt__
from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces.service import ServiceInterface as _ServiceInterface

from ._init_system import ask_each as _ask_each
from ._init_system import checked as _checked
from ._init_system import has_systemd as _has_systemd
from ._init_system import init_scripts as _init_scripts

__virtualname__ = _ServiceInterface(__name__)()
__smi_grains__ = {"os": "Debian", "os_family": "Debian", "init": "sysvinit"}
__func_alias__ = {"reload_": "reload"}

_ETC = "/etc"
_STARTED = re.compile(r"S\d{2}(.+)")
_USUAL_RUNLEVEL = "2"
_OTHER_INITS = {"openrc", "runit"}


def __virtual__() -> Any:
    others = _has_systemd() or __grains__.get("init") in _OTHER_INITS
    if __grains__.get("os_family") == "Debian" and not others:
        return __virtualname__
    return False, "The debian_service module could not be loaded: unsupported OS family and/or systemd running."


def start(name: str) -> bool:
    """Start a service; True if its script reported success."""
    return _service(name, "start")


def stop(name: str) -> bool:
    """Stop a service; True if its script reported success."""
    return _service(name, "stop")


def restart(name: str) -> bool:
    """Stop and start a service."""
    return _service(name, "restart")


def reload_(name: str) -> bool:
    """Make a service reload its configuration."""
    return _service(name, "reload")


def force_reload(name: str) -> bool:
    """Make a service reload its configuration; restart it if it cannot."""
    return _service(name, "force-reload")


def status(name: str, sig: str | None = None) -> Any:
    """Return whether a service runs; for a glob, the answer for each service.

    With ``sig``, return whether a command line matches that regular expression instead.
    """
    if sig:
        return bool(__salt__["status.pid"](sig))
    return _ask_each(name, get_all, lambda each: _service(each, "status", ignore_retcode=True))


def enable(name: str, **kwargs: Any) -> bool:
    """Start a service at boot, in its default runlevels."""
    if not glob.glob(f"{_ETC}/rc?.d/[SK][0-9][0-9]{glob.escape(name)}"):
        return _update_rc(name, "defaults") and (name in get_enabled() or _update_rc(name, "enable"))
    return _update_rc(name, "enable")


def disable(name: str, **kwargs: Any) -> bool:
    """Do not start a service at boot."""
    return _update_rc(name, "disable")


def enabled(name: str, **kwargs: Any) -> bool:
    """Return whether a service is started at boot in this runlevel."""
    return name in get_enabled()


def disabled(name: str, **kwargs: Any) -> bool:
    """Return whether there is such a service and it is not started at boot."""
    return name in get_disabled()


def available(name: str) -> bool:
    """Return whether there is such a service."""
    return name in get_all()


def missing(name: str) -> bool:
    """Return whether there is no such service."""
    return not available(name)


def get_all(**kwargs: Any) -> list[str]:
    """Return all services, sorted."""
    scripts = _init_scripts(os.path.join(_ETC, "init.d"))
    return sorted({*scripts, *get_enabled()} - {"README"})


def get_enabled(**kwargs: Any) -> list[str]:
    """Return the services that are started at boot in this runlevel, sorted."""
    names = (os.path.basename(path) for path in glob.glob(f"{_ETC}/rc[S{_runlevel()}].d/S*"))
    return sorted({match[1] for match in map(_STARTED.fullmatch, names) if match})


def get_disabled(**kwargs: Any) -> list[str]:
    """Return the services that are not started at boot, sorted."""
    return sorted({*get_all()} - {*get_enabled()})


def _service(name: str, action: str, **options: Any) -> bool:
    # A daemon may keep the output open; cmd.run_all returns when the script ends.
    done = __salt__["cmd.run_all"](["service", _checked(name), action], python_shell=False, **options)
    return bool(done["retcode"] == 0)


def _update_rc(name: str, action: str) -> bool:
    done = __salt__["cmd.run_all"](["update-rc.d", _checked(name), action], python_shell=False)
    if done["retcode"]:
        raise CommandExecutionError(done["stderr"] or done["stdout"] or f"update-rc.d {name} {action} failed")
    return True


def _runlevel() -> str:
    """Return the runlevel; where there is none, as in a container, the one Debian boots into."""
    try:
        said = __salt__["cmd.run_all"](["runlevel"], python_shell=False, ignore_retcode=True)["stdout"]
    except CommandExecutionError:  # there is no init at all
        return _USUAL_RUNLEVEL
    words = str(said).split()
    return words[1] if len(words) == 2 and words[1].isalnum() else _USUAL_RUNLEVEL
