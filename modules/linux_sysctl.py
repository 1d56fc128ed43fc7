"""The ``sysctl`` execution module for Linux: /proc/sys, and the file that is read at the start of the system."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

from asyncstate.dunders import __grains__
from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces.sysctl import SysctlInterface

from . import _atomic_text

log = logging.getLogger(__name__)

__virtualname__ = SysctlInterface(__name__)()

_PROC = "/proc/sys"
_SYSTEMD = "/run/systemd/system"
_HEADER = "#\n# Kernel sysctl configuration\n#\n"

_changing = threading.Lock()


def __virtual__() -> bool | tuple[bool, str]:
    """Load on Linux."""
    if __grains__.get("kernel") == "Linux":
        return True
    return False, "The linux_sysctl execution module cannot be loaded: only available on Linux systems."


def default_config() -> str:
    """Return the file that is read at the start of the system: systemd passes over /etc/sysctl.conf."""
    return "/etc/sysctl.d/99-salt.conf" if os.path.isdir(_SYSTEMD) else "/etc/sysctl.conf"


def show(config_file: Any = False) -> Any:
    """Return the settings in force, or those of a file: {} if it does not exist, None if it cannot be read."""
    if not config_file:
        return _in_force()
    try:
        return {name: value for name, value in map(_setting, _lines(config_file)) if name}
    except CommandExecutionError as error:
        log.error("%s", error)  # noqa: TRY400 - the caller says what follows from it
        return None


def get(name: str) -> str:
    """Return the value in force, "" for an unknown setting."""
    try:
        with open(_path(name), encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except (OSError, CommandExecutionError):
        return ""


def assign(name: str, value: Any) -> dict[str, str]:
    """Put a value in force. CommandExecutionError if there is no such setting, or the kernel refuses the value."""
    path = _path(name)
    if not os.path.isfile(path):
        raise CommandExecutionError(f"sysctl {name} does not exist")
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{value}\n")
    except OSError as error:
        raise CommandExecutionError(f"sysctl -w failed: {name}: {error.strerror}") from error
    return {name: str(value)}


def persist(name: str, value: Any, config: str | None = None) -> str:
    """Put a value in force and into ``config``: "Updated" or "Already set".

    The kernel is asked first, so that a value it refuses does not get into the file.
    """
    config = config or default_config()
    wanted = _words(value)
    with _changing:
        lines = _lines(config)
        set_in_file = [_words(found) for found_name, found in map(_setting, lines) if found_name == name]
        right_in_file = bool(set_in_file) and all(each == wanted for each in set_in_file)
        right_in_force = _words(get(name)) == wanted
        if right_in_file and right_in_force:
            return "Already set"
        if not right_in_force:
            assign(name, value)
        if not right_in_file:
            _write(config, lines, name, value)
    return "Updated"


def _write(config: str, lines: list[str], name: str, value: Any) -> None:
    entry = f"{name} = {value}"
    changed = [entry if _setting(line)[0] == name else line for line in lines]
    if entry not in changed:
        changed.append(entry)
    header = "" if os.path.isfile(config) else _HEADER
    try:
        os.makedirs(os.path.dirname(config) or ".", exist_ok=True)
        _atomic_text.replace_text(config, header + "".join(f"{line}\n" for line in changed))
    except OSError as error:
        raise CommandExecutionError(f"Could not write to file: {config}: {error.strerror}") from error


def _lines(config: str) -> list[str]:
    try:
        with open(config, encoding="utf-8", errors="surrogateescape") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CommandExecutionError(f"Could not read from file: {config}: {error.strerror}") from error


def _setting(line: str) -> tuple[str, str]:
    """Return name and value of a line, two empty texts for one that sets nothing."""
    name, equals, value = line.partition("=")
    name = name.strip()
    return (name, value.strip()) if equals and name and not name.startswith(("#", ";")) else ("", "")


def _words(value: Any) -> list[str]:
    return str(value).split()


def _path(name: str) -> str:
    """Return where a setting is below /proc/sys: its first dot or slash tells which of them separates."""
    first = next((mark for mark in name if mark in "./"), ".")
    relative = name.translate(str.maketrans("./", "/.")) if first == "." else name
    path = os.path.normpath(os.path.join(_PROC, relative))
    if not path.startswith(f"{_PROC}/"):
        raise CommandExecutionError(f"{name!r} is no name of a setting")
    return path


def _in_force() -> dict[str, str]:
    found = {}
    for folder, _, names in os.walk(_PROC):
        for file in names:
            path = os.path.join(folder, file)
            name = os.path.relpath(path, _PROC).translate(str.maketrans("./", "/."))
            if os.access(path, os.R_OK):
                found[name] = get(name)
    return found
