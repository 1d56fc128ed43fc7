"""The ``service`` execution module of machines run by systemd, and of images, chroots and containers that have it.

Where systemd is installed and not process 1, units are enabled and masked, which only makes links. Nothing can be
started then, but by Debian's ``service``, from an init script.
"""

from __future__ import annotations

import glob
import os
import re
from typing import Any

from asyncstate.dunders import __grains__, __salt__
from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces.service import ServiceInterface as _ServiceInterface

from ._init_system import ask_each as _ask_each
from ._init_system import booted_with_systemd as _booted_with_systemd
from ._init_system import checked as _checked
from ._init_system import has_systemd as _has_systemd
from ._init_system import init_scripts as _init_scripts

__virtualname__ = _ServiceInterface(__name__)()
__smi_grains__ = {"init": "systemd"}
__func_alias__ = {"reload_": "reload"}

_UNIT_TYPES = ("service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer")
_UNIT_FOLDERS = ("/lib/systemd/system", "/usr/lib/systemd/system", "/etc/systemd/system")
_OWN_UNITS = "/etc/systemd/system"
_NOT_FOUND = 4
_OTHER_INITS = {"openrc", "runit"}
_OPTIONS = {"--runtime", "--value", "--property=Id", "--property=NeedDaemonReload"}


def __virtual__() -> Any:
    others = not _booted_with_systemd() and __grains__.get("init") in _OTHER_INITS
    if __grains__.get("kernel") == "Linux" and _has_systemd() and not others:
        return __virtualname__
    reason = "only available on Linux systems which have been booted with systemd."
    return False, f"The systemd execution module failed to load: {reason}"


def offline() -> bool:
    """Return whether systemd is installed and does not run, as in an image: units can be enabled, not started."""
    return not _booted_with_systemd() and _has_systemd()


def start(name: str, no_block: bool = False, unmask: bool = False, unmask_runtime: bool = False) -> bool:
    """Start a unit, unmasked first with ``unmask``; ``no_block`` does not wait. CommandExecutionError on failure."""
    return _act("start", name, no_block=no_block, unmask=unmask, unmask_runtime=unmask_runtime)


def stop(name: str, no_block: bool = False) -> bool:
    """Stop a unit; True if it was stopped."""
    if _by_scripts():
        return _script(name, "stop")
    _reload_if_changed(name)
    return bool(_systemctl("stop", name, no_block=no_block)["retcode"] == 0)


def restart(name: str, no_block: bool = False, unmask: bool = False, unmask_runtime: bool = False) -> bool:
    """Stop and start a unit. CommandExecutionError if it fails."""
    return _act("restart", name, no_block=no_block, unmask=unmask, unmask_runtime=unmask_runtime)


def reload_(name: str, no_block: bool = False, unmask: bool = False, unmask_runtime: bool = False) -> bool:
    """Make a unit reload its configuration. CommandExecutionError if it fails."""
    return _act("reload", name, no_block=no_block, unmask=unmask, unmask_runtime=unmask_runtime)


def force_reload(name: str, no_block: bool = False, unmask: bool = False, unmask_runtime: bool = False) -> bool:
    """Make a unit reload its configuration; restart it if it cannot. CommandExecutionError if it fails."""
    return _act("force-reload", name, no_block=no_block, unmask=unmask, unmask_runtime=unmask_runtime)


def status(name: str, sig: str | None = None) -> Any:
    """Return whether a unit is active; for a glob, the answer for each unit. ``sig`` is accepted and ignored."""

    def is_active(unit: str) -> bool:
        if _by_scripts():
            return _script(unit, "status")
        _reload_if_changed(unit)
        return bool(_systemctl("is-active", unit)["retcode"] == 0)

    return _ask_each(name, get_all, is_active)


def enable(
    name: str,
    no_block: bool = False,
    unmask: bool = False,
    unmask_runtime: bool = False,
    root: str | None = None,
    **kwargs: Any,
) -> bool:
    """Start a unit (or an init script without a unit) at boot. CommandExecutionError if it fails."""
    _reload_if_changed(name)
    _unmask_if(name, unmask, unmask_runtime, root)
    if name in _scripts_without_unit(root):
        # `defaults` leaves the links of a disabled script as they are, and returns 0 without permission, too.
        is_new = _update_rc(name, "defaults", "99")
        return is_new and (_linked(name, root) or (_update_rc(name, "enable") and _linked(name, root)))
    done = _systemctl("enable", name, no_block=no_block, root=root)
    if done["retcode"]:
        raise CommandExecutionError(_reason(done))
    return True


def disable(name: str, no_block: bool = False, root: str | None = None, **kwargs: Any) -> bool:
    """Do not start a unit (or an init script without a unit) at boot; True if that worked."""
    _reload_if_changed(name)
    if name in _scripts_without_unit(root):
        return _update_rc(name, "remove")
    return bool(_systemctl("disable", name, no_block=no_block, root=root)["retcode"] == 0)


def enabled(name: str, root: str | None = None, **kwargs: Any) -> bool:
    """Return whether a unit is started at boot: enabled, static, an alias of such, or an init script with links."""
    done = _systemctl("is-enabled", name, root=root)
    answer = str(done["stdout"]).strip()
    if answer == "alias":
        real = _systemctl("show", name, "--property=Id", "--value", root=root)["stdout"]
        return bool(real and _systemctl("is-enabled", real, root=root)["retcode"] == 0)
    if done["retcode"] == 0:
        return True
    if "@" in name:
        links = glob.glob(f"{_below(root, _OWN_UNITS)}/**/{glob.escape(_unit(name))}", recursive=True)
        return any(os.path.islink(path) for path in links)
    return name in _scripts_without_unit(root) and _linked(name, root)


def disabled(name: str, root: str | None = None, **kwargs: Any) -> bool:
    """Return whether a unit is not started at boot."""
    return not enabled(name, root=root)


def available(name: str) -> bool:
    """Return whether there is such a unit."""
    _reload_if_changed(name)
    return _is_known(name)


def missing(name: str) -> bool:
    """Return whether there is no such unit."""
    return not available(name)


def masked(name: str, runtime: bool = False, root: str | None = None) -> bool:
    """Return whether a unit is masked, permanently or (``runtime``) until the next boot."""
    path = _below(root, os.path.join("/run" if runtime else "/etc", "systemd/system", _unit(name)))
    try:
        return os.readlink(path) == "/dev/null"
    except OSError:
        return False


def mask(name: str, runtime: bool = False, root: str | None = None) -> bool:
    """Make a unit impossible to start. CommandExecutionError if that fails."""
    _reload_if_changed(name)
    done = _systemctl("mask", *(["--runtime"] if runtime else []), name, root=root)
    if done["retcode"]:
        raise CommandExecutionError(f"Failed to mask service '{name}'", _reason(done))
    return True


def unmask(name: str, runtime: bool = False, root: str | None = None) -> bool:
    """Let a unit be started again. CommandExecutionError if that fails."""
    _reload_if_changed(name)
    if masked(name, runtime, root):
        done = _systemctl("unmask", *(["--runtime"] if runtime else []), name, root=root)
        if done["retcode"]:
            raise CommandExecutionError(f"Failed to unmask service '{name}'", _reason(done))
    return True


def systemctl_reload() -> bool:
    """Make systemd reload its unit files. CommandExecutionError if that fails."""
    done = _systemctl("daemon-reload")
    if done["retcode"]:
        raise CommandExecutionError(f"Problem performing systemctl daemon-reload: {_reason(done)}")
    return True


def show(name: str, root: str | None = None) -> dict[str, Any]:
    """Return the properties of a unit; those in braces as a mapping, its order of start as lists."""
    found: dict[str, Any] = {}
    for line in str(_systemctl("show", name, root=root)["stdout"]).splitlines():
        key, _, value = line.partition("=")
        if value.startswith("{"):
            pairs = (item.partition("=") for item in value.strip("{} ").split(" ; "))
            found[key] = {part.strip(): text.strip() for part, _, text in pairs}
        else:
            found[key] = value.split() if key in {"Before", "After", "Wants"} else value
    return found


def execs(root: str | None = None) -> dict[str, str]:
    """Return the program of each service."""
    properties = {name: show(name, root).get("ExecStart") for name in get_all(root=root)}
    return {name: found["path"] for name, found in properties.items() if isinstance(found, dict) and "path" in found}


def get_all(root: str | None = None, **kwargs: Any) -> list[str]:
    """Return all units (services without their suffix) and init scripts, sorted."""
    return sorted({*_units(root), *_init_scripts(_below(root, "/etc/init.d"))})


def get_running() -> list[str]:
    """Return the units that run, sorted."""
    rows = _table("list-units")
    return sorted(_short(row[0]) for row in rows if len(row) > 3 and row[3] == "running" and _is_unit(row[0]))


def get_enabled(root: str | None = None, **kwargs: Any) -> list[str]:
    """Return the units that are started at boot, sorted."""
    return sorted({*_in_state("enabled", root), *(each for each in _scripts_without_unit(root) if _linked(each, root))})


def get_disabled(root: str | None = None, **kwargs: Any) -> list[str]:
    """Return the units that are not started at boot, sorted."""
    scripts = (each for each in _scripts_without_unit(root) if not _linked(each, root))
    return sorted({*_in_state("disabled", root), *scripts})


def get_static(root: str | None = None) -> list[str]:
    """Return the units that can be neither enabled nor disabled, sorted."""
    return sorted(_in_state("static", root))


def _act(action: str, name: str, *, no_block: bool, unmask: bool, unmask_runtime: bool) -> bool:
    if _by_scripts():
        return _script(name, action)
    _reload_if_changed(name)
    _unmask_if(name, unmask, unmask_runtime)
    done = _systemctl(action, name, no_block=no_block)
    if done["retcode"]:
        raise CommandExecutionError(_reason(done))
    return True


def _by_scripts() -> bool:
    """Return whether services are started by Debian's ``service``: it runs init scripts where systemd does not run."""
    return offline() and __grains__.get("os_family") == "Debian"


def _script(name: str, action: str) -> bool:
    done = __salt__["cmd.run_all"](["service", _checked(name), action], python_shell=False, ignore_retcode=True)
    return bool(done["retcode"] == 0)


def _systemctl(action: str, *arguments: str, no_block: bool = False, root: str | None = None) -> dict[str, Any]:
    command = ["systemctl"]
    if no_block:
        command.append("--no-block")
    if root:
        command += ["--root", root]
    if action in {"status", "list-units", "list-unit-files"}:
        command += ["--full", "--no-legend", "--no-pager", "--plain"]
    command.append(action)
    command += [each if each in _OPTIONS else _unit(each) for each in arguments]
    done: dict[str, Any] = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True)
    return done


def _reload_if_changed(name: str) -> None:
    """Make systemd reload its unit files if this unit's file is new or has changed."""
    if offline():  # no process would read them
        return
    about = _systemctl("show", name, "--property=NeedDaemonReload", "--value")
    own = os.path.join(_OWN_UNITS, _unit(name))
    if str(about["stdout"]).strip() == "yes" or (os.access(own, os.R_OK) and not _is_known(name)):
        systemctl_reload()


def _is_known(name: str) -> bool:
    if offline():  # systemctl status then succeeds for any name
        units = any(os.path.exists(os.path.join(folder, _unit(name))) for folder in _UNIT_FOLDERS)
        return units or name in _init_scripts()
    return bool(0 <= _systemctl("status", name)["retcode"] < _NOT_FOUND)


def _unmask_if(name: str, for_good: bool, runtime: bool, root: str | None = None) -> None:
    if for_good:
        unmask(name, runtime=False, root=root)
    if runtime:
        unmask(name, runtime=True, root=root)


def _unit(name: Any) -> str:
    text = _checked(str(name))
    return text if text.endswith(tuple(f".{kind}" for kind in _UNIT_TYPES)) else f"{text}.service"


def _is_unit(fullname: str) -> bool:
    return fullname.rpartition(".")[2] in _UNIT_TYPES


def _short(fullname: str) -> str:
    return fullname.removesuffix(".service")


def _below(root: str | None, path: str) -> str:
    return os.path.join(root, path.lstrip("/")) if root else path


def _units(root: str | None) -> set[str]:
    found: set[str] = set()
    for folder in _UNIT_FOLDERS:
        path = _below(root, folder)
        if os.path.isdir(path):
            found.update(_short(name) for name in os.listdir(path) if _is_unit(name))
    return found


def _scripts_without_unit(root: str | None) -> list[str]:
    units = _units(root)
    return [name for name in _init_scripts(_below(root, "/etc/init.d")) if name not in units]


def _linked(name: str, root: str | None) -> bool:
    """Whether an init script is started in a runlevel a machine normally runs in."""
    pattern = re.compile(rf"S\d{{2}}{re.escape(name)}")
    links = glob.glob(_below(root, "/etc/rc[2-5].d/S*"))
    return any(pattern.fullmatch(os.path.basename(path)) for path in links)


def _update_rc(name: str, *action: str) -> bool:
    done = __salt__["cmd.run_all"](["update-rc.d", "-f", name, *action], python_shell=False, ignore_retcode=True)
    return bool(done["retcode"] == 0)


def _table(action: str, root: str | None = None) -> list[list[str]]:
    return [line.split() for line in str(_systemctl(action, root=root)["stdout"]).splitlines() if line.strip()]


def _in_state(state: str, root: str | None) -> list[str]:
    rows = _table("list-unit-files", root)
    return [_short(row[0]) for row in rows if len(row) > 1 and row[1] == state and _is_unit(row[0])]


def _reason(done: dict[str, Any]) -> str:
    lines = str(done["stderr"] or done["stdout"]).splitlines()
    return "\n".join(line for line in lines if not line.endswith(".scope")).strip()
