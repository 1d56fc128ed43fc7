"""The files from which kernel settings are read at boot."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.data.values import unfit as _unfit
from asyncstate.dunders import Editing, editing
from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Callable

_HEADER = "#\n# Kernel sysctl configuration\n#\n"


def settings_of(config: str) -> dict[str, str]:
    """Return the settings of a file, {} if it does not exist. CommandExecutionError if it cannot be read."""
    return {name: value for name, value in map(_setting, _lines(config)) if name}


def persist(config: str, name: str, value: Any, get: Callable[[str], str], assign: Callable[[str, Any], Any]) -> str:
    """Set a value with ``assign``, unless ``get`` returns it already, and in ``config``: "Updated" or "Already set".

    The kernel is set first, so that a value it refuses does not get into the file.
    """
    if problem := _unfit(f"a setting in {config}", (f"{name} = {value}".rstrip("\n"),)):
        raise CommandExecutionError(problem)
    wanted = _words(value)
    with editing(config) as edit:
        lines = _lines(config)
        set_in_file = [_words(found) for found_name, found in map(_setting, lines) if found_name == name]
        right_in_file = bool(set_in_file) and all(each == wanted for each in set_in_file)
        right_in_force = _words(get(name)) == wanted
        if right_in_file and right_in_force:
            return "Already set"
        if not right_in_force:
            assign(name, value)
        if not right_in_file:
            _write(config, lines, name, value, edit)
    return "Updated"


def _write(config: str, lines: list[str], name: str, value: Any, edit: Editing) -> None:
    entry = f"{name} = {value}"
    names = [_setting(line)[0] for line in lines]
    changed = [entry if found == name else line for found, line in zip(names, lines, strict=True)]
    if entry not in changed:
        changed.insert(edit.place((found or None for found in names), name), entry)
    header = "" if filesystem.is_file(config) else _HEADER
    try:
        filesystem.makedirs(os.path.dirname(config) or ".", exist_ok=True)
        filesystem.replace_text(config, header + "".join(f"{line}\n" for line in changed))
    except OSError as error:
        raise CommandExecutionError(f"Could not write to file: {config}: {error.strerror}") from error


def _lines(config: str) -> list[str]:
    try:
        return filesystem.read_lines(config)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CommandExecutionError(f"Could not read from file: {config}: {error.strerror}") from error


def _setting(line: str) -> tuple[str, str]:
    """Return name and value of a line, two empty texts if it sets nothing."""
    name, equals, value = line.partition("=")
    name = name.strip()
    return (name, value.strip()) if equals and name and not name.startswith(("#", ";")) else ("", "")


def _words(value: Any) -> list[str]:
    return str(value).split()
