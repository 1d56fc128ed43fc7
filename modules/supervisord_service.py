"""The ``service`` execution module for programs under supervisord, as in many containers.

It is used only with the setting ``providers: {service: supervisord_service}``, as supervisord may run beside the init
system that runs the services. A service is a program, or ``group:program``.
"""

from __future__ import annotations

import os
import re
from typing import Any

from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces.service import ServiceInterface

from ._ini_lines import IniFile
from ._init_system import ask_each, checked

__virtualname__ = ServiceInterface(__name__)()
__smi_grains__ = {"init": "supervisord"}
__func_alias__ = {"reload_": "reload"}

_FILES = ("/etc/supervisord.conf", "/etc/supervisor/supervisord.conf")
_FOLDERS = ("/etc/supervisor/conf.d", "/etc/supervisord.d", "/etc/supervisor.d")
_SUFFIXES = (".conf", ".ini")
_OFF = {"false", "0", "no", "off"}
_ALIVE = {"RUNNING", "STARTING"}
_PROGRAM = re.compile(r"^\s*(?:program|fcgi-program|eventlistener):(.+)$")


def __virtual__() -> Any:
    return False, "supervisord_service is used where the setting `providers` names it"


def start(name: str) -> bool:
    """Start a program; True if it runs then."""
    return _acted("start", name) or _is_running(name)


def stop(name: str) -> bool:
    """Stop a program; True if it does not run then."""
    return _acted("stop", name) or not _is_running(name)


def restart(name: str) -> bool:
    """Stop and start a program."""
    return _acted("restart", name)


def reload_(name: str) -> bool:
    """Make a program reload its configuration: it gets a hangup signal."""
    return _acted("signal", "HUP", name)


def force_reload(name: str) -> bool:
    """Make a program reload its configuration; restart it if it does not run."""
    return reload_(name) or restart(name)


def status(name: str, sig: str | None = None) -> Any:
    """Return whether a program runs; for a glob, the answer for each program.

    With ``sig``, return whether a command line matches that regular expression instead.
    """
    if sig:
        return bool(__salt__["status.pid"](sig))
    return ask_each(name, get_all, _is_running)


def enable(name: str, **kwargs: Any) -> bool:
    """Start a program when supervisord starts. CommandExecutionError if its configuration is not found."""
    return _set_autostart(name, wanted=True)


def disable(name: str, **kwargs: Any) -> bool:
    """Do not start a program when supervisord starts. CommandExecutionError if its configuration is not found."""
    return _set_autostart(name, wanted=False)


def enabled(name: str, **kwargs: Any) -> bool:
    """Return whether a program is started when supervisord starts."""
    file, section = _configuration(name)
    return file is not None and file.settings(section).get("autostart", "true").lower() not in _OFF


def disabled(name: str, **kwargs: Any) -> bool:
    """Return whether a program is not started when supervisord starts."""
    return not enabled(name)


def available(name: str) -> bool:
    """Return whether supervisord knows such a program."""
    return name in _states() or _configuration(name)[0] is not None


def missing(name: str) -> bool:
    """Return whether supervisord knows no such program."""
    return not available(name)


def get_all(**kwargs: Any) -> list[str]:
    """Return all programs supervisord knows, sorted."""
    return sorted(_states())


def get_enabled(**kwargs: Any) -> list[str]:
    """Return the programs that are started when supervisord starts, sorted."""
    return [name for name in get_all() if enabled(name)]


def get_disabled(**kwargs: Any) -> list[str]:
    """Return the programs that are not started when supervisord starts, sorted."""
    return [name for name in get_all() if not enabled(name)]


def _is_running(name: str) -> bool:
    return _states().get(name) in _ALIVE


def _states() -> dict[str, str]:
    """Return the state of each program. CommandExecutionError if supervisord does not answer."""
    done = _supervisorctl("status")
    rows = [line.split() for line in str(done["stdout"]).splitlines()]
    found = {row[0]: row[1] for row in rows if len(row) > 1 and row[1].isupper()}
    if not found and done["retcode"]:
        raise CommandExecutionError(f"supervisord does not answer: {done['stdout'] or done['stderr']}")
    return found


def _acted(*arguments: str) -> bool:
    done = _supervisorctl(*arguments)
    return bool(done["retcode"] == 0 and "ERROR" not in str(done["stdout"]))


def _supervisorctl(*arguments: str) -> dict[str, Any]:
    done: dict[str, Any] = __salt__["cmd.run_all"](
        ["supervisorctl", *map(checked, arguments)], python_shell=False, ignore_retcode=True
    )
    return done


def _set_autostart(name: str, *, wanted: bool) -> bool:
    file, section = _configuration(name)
    if file is None:
        raise CommandExecutionError(
            f"{name} has no [program:{_plain(name)}] in {', '.join((*_FILES, *_FOLDERS))}: write one first"
        )
    file.set(section, "autostart", "true" if wanted else "false")
    try:
        file.save()
    except OSError as error:
        raise CommandExecutionError(f"Cannot write {file.path}: {error.strerror}") from error
    return _acted("reread")


def _configuration(name: str) -> tuple[IniFile | None, str]:
    """Return the file in which a program is configured, and its section there."""
    for path in _paths():
        file = IniFile(path)
        for section in file.sections:
            match = _PROGRAM.match(section)
            if match and match[1].strip() == _plain(name):
                return file, section
    return None, ""


def _paths() -> list[str]:
    parts = [
        os.path.join(folder, each)
        for folder in _FOLDERS
        if os.path.isdir(folder)
        for each in sorted(os.listdir(folder))
        if each.endswith(_SUFFIXES)
    ]
    return [*filter(os.path.isfile, _FILES), *parts]


def _plain(name: str) -> str:
    return name.rpartition(":")[2]
