"""The ``group`` execution module for BusyBox: addgroup, delgroup, and changes to /etc/group for the rest."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import __salt__
from asyncstate.interfaces.group import GroupInterface

from . import _account_files, _busybox
from . import _user_database as database
from ._account_files import GROUP
from ._group_reading import getent, info, list_groups

if TYPE_CHECKING:
    from ._account_files import Row

__virtualname__ = GroupInterface(__name__)()

__all__ = ["add", "adduser", "chgid", "delete", "deluser", "getent", "info", "list_groups", "members"]


def __virtual__() -> bool | tuple[bool, str]:
    """Load if addgroup is BusyBox's and the shadow tools are not installed."""
    if shutil.which("groupadd") is None and _busybox.has_applet("addgroup"):
        return True
    return False, "group: addgroup is not BusyBox's, or groupadd is installed"


def add(
    name: str,
    gid: Any = None,
    system: bool = False,
    root: str | None = None,
    non_unique: bool = False,
    local: bool = False,
) -> bool:
    """Create a group; True if that worked. BusyBox cannot give two groups the same GID."""
    options = ["-g", gid] if gid else []
    return _succeeds("addgroup", *options, *(["-S"] if system else []), "--", name, root=root)


def delete(name: str, root: str | None = None, local: bool = False) -> bool:
    """Remove a group; True if that worked."""
    return _succeeds("delgroup", "--", name, root=root)


def chgid(name: str, gid: Any, root: str | None = None, non_unique: bool = False) -> bool:
    """Change a group's GID; False for an unknown group, or a number that is taken unless ``non_unique``."""
    if database.group(name, root) is None:
        return False
    if not non_unique and any(e.gr_gid == gid and e.gr_name != name for e in database.groups(root)):
        return False
    _account_files.change_row(GROUP, name, lambda row: [*row[:2], str(int(gid)), *row[3:]], root)
    return True


def adduser(name: str, username: str, root: str | None = None) -> bool:
    """Put a user into a group."""
    return _succeeds("addgroup", "--", username, name, root=root)


def deluser(name: str, username: str, root: str | None = None) -> bool:
    """Remove a user from a group; True also if the group is unknown or the user is not in it."""
    group = database.group(name, root)
    if group is None or username not in group.gr_mem:
        return True
    return _succeeds("delgroup", "--", username, name, root=root)


def members(name: str, members_list: str, root: str | None = None) -> bool:
    """Make the users of a comma-separated list the only members of a group; False if one of them does not exist."""
    wanted = [each for each in members_list.split(",") if each]
    if database.group(name, root) is None or any(database.user(each, root) is None for each in wanted):
        return False

    def change(row: Row) -> Row:
        return [*row[:3], ",".join(wanted)]

    _account_files.change_row(GROUP, name, change, root)
    return True


def _succeeds(applet: str, *arguments: Any, root: str | None) -> bool:
    with _account_files.one_at_a_time():
        command = [*_busybox.argv(applet, root), *map(str, arguments)]
        return bool(__salt__["cmd.run_all"](command, python_shell=False)["retcode"] == 0)
