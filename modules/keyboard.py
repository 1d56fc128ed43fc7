"""The ``keyboard`` execution module: the layout of the console, by localectl or Debian's file, and that of X."""

from __future__ import annotations

import re
import shutil

from asyncstate import filesystem
from asyncstate.dunders import __grains__, __salt__
from asyncstate.errors import CommandExecutionError, InvocationError

from . import _init_system

_FILE = "/etc/default/keyboard"
_SETTING = re.compile(r"^XKBLAYOUT=.*", re.MULTILINE)
_LAYOUT = re.compile(r"[A-Za-z0-9][\w,.()-]*")


def __virtual__() -> bool | tuple[bool, str]:
    """Load if systemd runs, and on Debian and its derivatives."""
    if _has_localectl() or __grains__.get("os_family") == "Debian":
        return True
    return False, "The keyboard execution module cannot be loaded: neither localectl nor Debian"


def get_sys() -> str:
    """Return the layout of the console, "" if none is set."""
    if _has_localectl():
        answer = __salt__["cmd.run_stdout"](["localectl", "status"], python_shell=False)
        found = re.search(r"VC Keymap: *(\S+)", answer)
        return found[1] if found else ""
    setting = _SETTING.search(_text())
    return setting[0].partition("=")[2].replace('"', "") if setting else ""


def set_sys(layout: str) -> str:
    """Set the layout of the console and return it."""
    _check(layout)
    if _has_localectl():
        _run("localectl", "set-keymap", layout)
        return layout
    text = _text()
    line = f'XKBLAYOUT="{layout}"'
    changed = _SETTING.sub(line, text) if _SETTING.search(text) else f"{text}{line}\n"
    try:
        filesystem.replace_content(filesystem.resolved(_FILE), changed.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise CommandExecutionError(f"Cannot write {_FILE}: {error.strerror}") from error
    return layout


def get_x() -> str:
    """Return the layout of the X server, "" if there is none."""
    answer = __salt__["cmd.run_stdout"](["setxkbmap", "-query"], python_shell=False)
    found = re.search(r"layout: *(\S+)", answer)
    return found[1] if found else ""


def set_x(layout: str) -> str:
    """Set the layout of the X server and return it."""
    _check(layout)
    _run("setxkbmap", layout)
    return layout


def _has_localectl() -> bool:
    return _init_system.booted_with_systemd() and shutil.which("localectl") is not None


def unfit(layout: str) -> str:
    """Return the reason why a name cannot be that of a layout, "" if it can."""
    if _LAYOUT.fullmatch(layout):
        return ""
    return f"{layout!r} is not the name of a keyboard layout, such as us or de-latin1"


def _check(layout: str) -> None:
    if problem := unfit(layout):
        raise InvocationError(problem)


def _run(*command: str) -> None:
    answer = __salt__["cmd.run_all"](list(command), python_shell=False)
    if answer["retcode"] != 0:
        raise CommandExecutionError(f"{command[0]} failed: {answer['stderr']}")


def _text() -> str:
    try:
        with filesystem.open_text(_FILE, errors="surrogateescape") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise CommandExecutionError(f"Cannot read {_FILE}: {error.strerror}") from error
