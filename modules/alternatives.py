"""The ``alternatives`` execution module: the links of update-alternatives."""

from __future__ import annotations

import os
import shutil
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __grains__, __salt__
from asyncstate.errors import CommandExecutionError

__func_alias__ = {"set_": "set"}

_LINKS = "/etc/alternatives"


def __virtual__() -> bool | tuple[bool, str]:
    """Load if the program is installed."""
    if os.path.isdir(_LINKS) or shutil.which(_program()):
        return True
    return False, "The alternatives module could not be loaded: there is no /etc/alternatives"


def display(name: str) -> str:
    """Return the program's output about a name, or its error message."""
    answer = _run("--display", _checked(name))
    return str(answer["stderr"] if answer["retcode"] > 0 and answer["stderr"] else answer["stdout"])


def show_link(name: str) -> Any:
    """Return the generic name's path (the master link), False for an unknown name."""
    family = str(__grains__.get("os_family"))
    folder = {"RedHat": "/var/lib/alternatives", "Suse": "/var/lib/rpm/alternatives"}.get(family)
    if folder:
        return _second_line(os.path.join(folder, _checked(name)))
    answer = _run("--query", _checked(name))
    head = answer["stdout"].split("\n\n", 1)[0].splitlines() if answer["retcode"] == 0 else []
    return next((line.partition(":")[2].strip() for line in head if line.startswith("Link:")), False)


def show_current(name: str) -> Any:
    """Return the path a name stands for now, False for an unknown name."""
    try:
        return os.readlink(os.path.join(_LINKS, _checked(name)))
    except OSError:
        return False


def check_exists(name: str, path: str) -> bool:
    """Return whether a path is one of the alternatives of a name."""
    answer = _run("--display", _checked(name))
    return answer["retcode"] == 0 and any(line.startswith(f"{path} ") for line in answer["stdout"].splitlines())


def check_installed(name: str, path: str) -> bool:
    """Return whether a name stands for a path now."""
    return bool(show_current(name) == path)


def install(name: str, link: str, path: str, priority: Any) -> str:
    """Make a path one of the alternatives of a name, to which ``link`` leads; return the output of the program."""
    answer = _run("--install", link, _checked(name), path, str(priority))
    return str(answer["stderr"] if answer["retcode"] > 0 and answer["stderr"] else answer["stdout"])


def remove(name: str, path: str) -> str:
    """Remove a path from the alternatives of a name; return the output of the program."""
    return _output(_run("--remove", _checked(name), path))


def auto(name: str) -> str:
    """Set a name to its alternative with the highest priority; return the output of the program."""
    return _output(_run("--auto", _checked(name)))


def set_(name: str, path: str) -> str:
    """Set a name to one of its alternatives; return the output of the program."""
    return _output(_run("--set", _checked(name), path))


def _checked(name: str) -> str:
    """Return a name. CommandExecutionError if the program would read it as a path or an option, or refuse it."""
    if not name or name.startswith("-") or "/" in name or " " in name or not name.isprintable():
        raise CommandExecutionError(f"{name!r} is not a name of alternatives")
    return name


def _output(answer: dict[str, Any]) -> str:
    return str(answer["stderr"] if answer["retcode"] > 0 else answer["stdout"])


def _program() -> str:
    return "alternatives" if __grains__.get("os_family") == "RedHat" else "update-alternatives"


def _run(*arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = __salt__["cmd.run_all"](
        [_program(), *arguments], python_shell=False, ignore_retcode=True, output_loglevel="quiet"
    )
    return answer


def _second_line(path: str) -> Any:
    try:
        with filesystem.open_text(path) as file:
            return file.read().splitlines()[1]
    except (OSError, IndexError):
        return False
