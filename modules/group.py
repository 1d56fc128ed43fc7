"""The ``group`` execution module for the shadow tools: groupadd, groupmod, groupdel, gpasswd."""

from __future__ import annotations

import shutil
from typing import Any

from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces.group import GroupInterface

from . import _account_files, _busybox
from . import _user_database as database
from ._group_reading import getent, info, list_groups

__virtualname__ = GroupInterface(__name__)()

__all__ = ["add", "adduser", "chgid", "delete", "deluser", "getent", "info", "list_groups", "members"]


def __virtual__() -> bool | tuple[bool, str]:
    """Load unless BusyBox manages the groups."""
    if shutil.which("groupadd") is None and _busybox.has_applet("addgroup"):
        return False, "group: groupadd is not installed, BusyBox manages groups here"
    return True


def add(
    name: str,
    gid: Any = None,
    system: bool = False,
    root: str | None = None,
    non_unique: bool = False,
    local: bool = False,
) -> bool:
    """Create a group; True if that worked. ``local`` uses lgroupadd."""
    options: list[Any] = []
    if gid:
        options += ["-g", gid]
        if non_unique and not local:
            options.append("-o")
    if system:
        options.append("-r")
    return _succeeds("lgroupadd" if local else "groupadd", *options, *_below(None if local else root), "--", name)


def delete(name: str, root: str | None = None, local: bool = False) -> bool:
    """Remove a group; True if that worked."""
    return _succeeds("lgroupdel" if local else "groupdel", *_below(None if local else root), "--", name)


def chgid(name: str, gid: Any, root: str | None = None, non_unique: bool = False) -> bool:
    """Change a group's GID; False for an unknown group."""
    group = database.group(name, root)
    if group is None:
        return False
    if group.gr_gid == gid:
        return True
    _succeeds("groupmod", *_below(root), *(["-o"] if non_unique else []), "-g", gid, "--", name)
    changed = database.group(name, root)
    return changed is not None and str(changed.gr_gid) == str(gid)


def adduser(name: str, username: str, root: str | None = None) -> bool:
    """Put a user into a group."""
    return _succeeds("gpasswd", "--add", username, *_within(root), "--", name)


def deluser(name: str, username: str, root: str | None = None) -> bool:
    """Remove a user from a group; True also if the group is unknown or the user is not in it."""
    group = database.group(name, root)
    if group is None or username not in group.gr_mem:
        return True
    return _succeeds("gpasswd", "--delete", username, *_within(root), "--", name)


def members(name: str, members_list: str, root: str | None = None) -> bool:
    """Make the users of a comma-separated list the only members of a group."""
    return _succeeds("gpasswd", "--members", members_list, *_within(root), "--", name)


def _below(root: str | None) -> list[str]:
    return ["-R", root] if root else []


def _within(root: str | None) -> list[str]:
    return ["--root", root] if root else []


def _succeeds(program: str, *arguments: Any) -> bool:
    if not shutil.which(program):
        raise CommandExecutionError(f"Command '{program}' cannot be found")
    with _account_files.one_at_a_time():
        return bool(__salt__["cmd.run_all"]([program, *map(str, arguments)], python_shell=False)["retcode"] == 0)
