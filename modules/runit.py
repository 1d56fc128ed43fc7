"""The ``service`` execution module of runit: folders of services, and links to those that run.

A service is a folder with a program ``run``. ``runsvdir`` manages it if it is linked from the folder of running
services; it is not started at boot if it has a file ``down``.
"""

from __future__ import annotations

import os
import shutil
import time
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __grains__, __salt__, check_cancelled
from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces.service import ServiceInterface

from ._init_system import ask_each, checked

__virtualname__ = ServiceInterface(__name__)()
__smi_grains__ = {"init": "runit"}
__func_alias__ = {"reload_": "reload"}

_AVAILABLE = ("/etc/sv", "/usr/lib/sv", "/etc/runit/sv")
_RUNNING = ("/var/service", "/service", "/etc/service", "/run/runit/service")
_SECONDS_TO_ANSWER = "10"
_PATIENCE = 12.0


def __virtual__() -> Any:
    if __grains__.get("init") == "runit" and shutil.which("sv"):
        return __virtualname__
    return False, "Runit not available. Please install sv"


def start(name: str) -> bool:
    """Start a service; one that is only installed is also linked, without being started at boot."""
    if not available(name):
        return False
    if not _is_linked(name):
        _set_down(name, down=True)
        _link(name)
    return _sv("start", name)


def stop(name: str) -> bool:
    """Stop a service; True if it was stopped."""
    return _sv("stop", name)


def restart(name: str) -> bool:
    """Stop and start a service.

    It does not use runit's own ``restart``, which may succeed before the process has received the signal.
    """
    return _sv("stop", name) and _sv("start", name)


def full_restart(name: str) -> bool:
    """The same as `restart`."""
    return restart(name)


def reload_(name: str) -> bool:
    """Make a service reload its configuration: it gets a hangup signal."""
    return _sv("reload", name)


def force_reload(name: str) -> bool:
    """Make a service reload its configuration; restart it if it cannot."""
    return _sv("reload", name) or restart(name)


def status(name: str, sig: str | None = None) -> Any:
    """Return whether a service runs; for a glob, the answer for each service.

    With ``sig``, return whether a command line matches that regular expression instead.
    """
    if sig:
        return bool(__salt__["status.pid"](sig))
    return ask_each(name, get_all, _is_running)


def enable(name: str, **kwargs: Any) -> bool:
    """Start a service at boot, and now if ``start``. False for an unknown one.

    CommandExecutionError if it cannot be linked.
    """
    if not available(name):
        return False
    start_now = bool(kwargs.get("start"))
    if not _is_linked(name):
        # runsvdir starts a new service at once unless it has the file `down`; afterwards the file can be removed.
        _set_down(name, down=not start_now)
        _link(name)
    _set_down(name, down=False)
    return _sv("start", name) if start_now else True


def disable(name: str, **kwargs: Any) -> bool:
    """Do not start a service at boot, and stop it now if ``stop``. False for an unknown one."""
    if not available(name):
        return False
    _set_down(name, down=True)
    return _sv("stop", name) if kwargs.get("stop") and _is_linked(name) else True


def enabled(name: str, **kwargs: Any) -> bool:
    """Return whether a service is started at boot: linked, and without a file ``down``."""
    folder = _folder(name)
    return _is_linked(name) and not (folder and os.path.exists(os.path.join(folder, "down")))


def disabled(name: str, **kwargs: Any) -> bool:
    """Return whether a service is not started at boot."""
    return not enabled(name)


def available(name: str) -> bool:
    """Return whether there is such a service."""
    return _folder(name) is not None


def missing(name: str) -> bool:
    """Return whether there is no such service."""
    return not available(name)


def get_all(**kwargs: Any) -> list[str]:
    """Return all services, sorted."""
    return sorted({name for folder in (*_AVAILABLE, *_RUNNING) for name in _names(folder)})


def get_enabled(**kwargs: Any) -> list[str]:
    """Return the services that are started at boot, sorted."""
    return [name for name in get_all() if enabled(name)]


def get_disabled(**kwargs: Any) -> list[str]:
    """Return the services that are not started at boot, sorted."""
    return [name for name in get_all() if not enabled(name)]


def remove(name: str) -> bool:
    """Stop a service and unlink it, so that runit no longer manages it. True also if it was not linked."""
    link = os.path.join(_running_folder(), checked(name))
    if not _is_linked(name):
        return True
    if not os.path.islink(link):
        raise CommandExecutionError(f"{link} is the service itself and no link to one: it is left alone")
    stopped = _sv("stop", name)
    filesystem.remove(link)
    return stopped


def _is_running(name: str) -> bool:
    return _sv_output("status", name).startswith("run:")


def _sv(action: str, name: str) -> bool:
    done = _call(action, name)
    return bool(done["retcode"] == 0)


def _sv_output(action: str, name: str) -> str:
    return str(_call(action, name)["stdout"])


def _call(action: str, name: str) -> dict[str, Any]:
    path = os.path.join(_running_folder(), checked(name))
    done: dict[str, Any] = __salt__["cmd.run_all"](
        ["sv", "-w", _SECONDS_TO_ANSWER, action, path], python_shell=False, ignore_retcode=True
    )
    return done


def _running_folder() -> str:
    """Return the folder of links to running services. CommandExecutionError if there is no such folder."""
    for folder in _RUNNING:
        if os.path.isdir(folder):
            return folder
    raise CommandExecutionError(f"runit's folder of running services is none of {', '.join(_RUNNING)}")


def _folder(name: str) -> str | None:
    """Return the folder of a service, wherever it is installed."""
    return next((os.path.join(each, name) for each in (*_AVAILABLE, *_RUNNING) if name in _names(each)), None)


def _names(folder: str) -> list[str]:
    try:
        found = os.listdir(folder)
    except OSError:
        return []
    return [name for name in found if os.access(os.path.join(folder, name, "run"), os.X_OK)]


def _is_linked(name: str) -> bool:
    return os.path.exists(os.path.join(_running_folder(), checked(name), "run"))


def _link(name: str) -> None:
    folder = _folder(name)
    assert folder is not None  # noqa: S101 - callers ask whether it is available
    link = os.path.join(_running_folder(), checked(name))
    try:
        if os.path.islink(link):
            filesystem.remove(link)
        filesystem.symlink(folder, link)
    except OSError as error:
        raise CommandExecutionError(f"Cannot link {link} to {folder}: {error.strerror}") from error
    _wait_for_supervision(name)


def _wait_for_supervision(name: str) -> None:
    """Wait until runsvdir has noticed a new link: it polls every five seconds, and until then sv does not know it."""
    sign = os.path.join(_running_folder(), checked(name), "supervise", "ok")
    deadline = time.monotonic() + _PATIENCE
    while not os.path.exists(sign) and time.monotonic() < deadline:
        check_cancelled()
        time.sleep(0.1)


def _set_down(name: str, *, down: bool) -> None:
    folder = _folder(name)
    assert folder is not None  # noqa: S101 - as above
    path = os.path.join(folder, "down")
    try:
        if down and not os.path.exists(path):
            with filesystem.parent(path) as here:
                os.close(here.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
        elif not down and os.path.lexists(path):
            filesystem.remove(path)
    except OSError as error:
        raise CommandExecutionError(f"Cannot {'make' if down else 'remove'} {path}: {error.strerror}") from error
