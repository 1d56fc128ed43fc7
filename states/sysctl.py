"""The ``sysctl`` states: kernel settings, with Salt's arguments and rows."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.data.values import unfit as _unfit
from asyncstate.dunders import Row, __salt__, changed, entry_of, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import CommandExecutionError

from ._sysctl_names import canonical as _canonical
from ._sysctl_names import path_of as _path
from ._sysctl_names import touched as _touched

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEFAULT_FILES = ("/etc/sysctl.conf", "/etc/sysctl.d/99-salt.conf")


def present(name: str, value: Any, config: str | None = None) -> Row:
    """Make sure that a kernel setting has this value, now and, by the file ``config``, after the next boot."""
    if is_dry_run():
        return _dry_run(name, value, config or __salt__["sysctl.default_config"]())
    try:
        done = __salt__["sysctl.persist"](name, value, config)
    except CommandExecutionError as error:
        return failed(name, f"Failed to set {name} to {value}: {error}")
    if done == "Updated":
        return changed(name, f"Updated sysctl value {name} = {value}", {name: value})
    return unchanged(name, f"Sysctl value {name} = {value} is already set")


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of a sysctl state: the setting, its entry in the file, and the file's folder.

    Without ``config``, the machine decides which default file is used.
    """
    name = str(low.get("name", ""))
    config = os.path.normpath(str(low["config"])) if low.get("config") else ""
    reads, writes = _touched(name)
    writes += [entry_of(f"path:{file}", _canonical(name)) for file in ([config] if config else _DEFAULT_FILES)]
    return {"reads": reads, "writes": writes, "makes": [f"path:{os.path.dirname(config)}"] if config else []}


def _unwritable(config: str) -> str:
    """Return the error if the file cannot be read and written, "" if it can."""
    try:
        if filesystem.exists(config):
            filesystem.open_read(config).close()
        if not filesystem.room_for(config, partial(filesystem.makedirs, os.path.dirname(config))):
            return f"Could not write to file: {config}: its folder cannot be made"
    except OSError as error:
        return f"Could not read from file: {config}: {error.strerror}"
    return ""


def _unsettable(name: str) -> str:
    """Return the reason why the running kernel takes no value, "" if it may: file permissions apply to root, too."""
    path = _path(name)
    return f"{path} may not be written" if os.path.exists(path) and not os.access(path, os.W_OK) else ""


def _dry_run(name: str, value: Any, config: str) -> Row:
    """Return the row of a dry run, by the changes of the running kernel and of the file."""
    filesystem.require_readable(config)
    line = f"{name} = {value}".rstrip("\n")
    if filesystem.foretells() and (problem := _unfit(f"a setting in {config}", (line,)) or _unwritable(config)):
        return failed(name, f"Failed to set {name} to {value}: {problem}")
    configured = __salt__["sysctl.show"](config_file=config)
    if configured is None:
        return would_change(
            name,
            f"Sysctl option {name} might be changed, we failed to check config file at {config}. The file is either"
            " unreadable, or missing.",
        )
    wanted = str(value).split()
    current = str(__salt__["sysctl.get"](name)).split()
    if not current and filesystem.foretells() and name not in __salt__["sysctl.show"]():
        return failed(name, f"Failed to set {name} to {value}: sysctl {name} does not exist")
    if current != wanted and filesystem.foretells() and (problem := _unsettable(name)):
        return failed(name, f"Failed to set {name} to {value}: {problem}")
    if not current and name in configured:
        return would_change(
            name,
            f"Sysctl value {name} is present in configuration file but is not present in the running config. The value"
            f" {name} is set to be changed to {value}",
        )
    if not current or (name in configured and configured[name].split() != wanted):
        return would_change(name, f"Sysctl option {name} would be changed to {value}")
    if current != wanted:
        verb = "would be" if name in configured else "set to be"
        return would_change(name, f"Sysctl option {name} {verb} changed to {value}")
    if name in configured:
        return unchanged(name, f"Sysctl value {name} = {value} is already set")
    return would_change(
        name,
        f"Sysctl value is currently set on the running system but not in a config file. Sysctl option {name} set to be"
        f" changed to {value} in config file.",
    )
