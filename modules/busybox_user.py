"""The ``user`` execution module for BusyBox: adduser, deluser, and changes to /etc/passwd for the rest."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces.user import UserInterface

from . import _account_files, _busybox
from . import _user_database as database
from ._account_files import GROUP, PASSWD, SHADOW
from ._account_reading import current, getent, info, list_groups, list_users, primary_group

if TYPE_CHECKING:
    from ._account_files import Row

__virtualname__ = UserInterface(__name__)()

__all__ = [
    "add",
    "chfullname",
    "chgid",
    "chgroups",
    "chhome",
    "chhomephone",
    "chother",
    "chroomnumber",
    "chshell",
    "chuid",
    "chworkphone",
    "current",
    "delete",
    "getent",
    "info",
    "list_groups",
    "list_users",
    "primary_group",
    "rename",
]

_UID, _GID, _GECOS, _HOME, _SHELL = 2, 3, 4, 5, 6


def __virtual__() -> bool | tuple[bool, str]:
    """Load if adduser is BusyBox's and the shadow tools are not installed."""
    if shutil.which("useradd") is None and _busybox.has_applet("adduser"):
        return True
    return False, "user: adduser is not BusyBox's, or useradd is installed"


def add(
    name: str,
    uid: Any = None,
    gid: Any = None,
    groups: Any = None,
    home: str | None = None,
    shell: str | None = None,
    unique: bool = True,
    system: bool = False,
    fullname: str = "",
    roomnumber: str = "",
    workphone: str = "",
    homephone: str = "",
    other: str = "",
    createhome: bool = True,
    loginclass: str | None = None,
    nologinit: bool = False,
    root: str | None = None,
    usergroup: bool | None = None,
    local: bool = False,
) -> bool:
    """Create a user without a password; True if that worked.

    BusyBox makes a group of the user's name unless ``gid`` names another. ``unique`` False, ``nologinit`` and
    ``local`` have no effect.
    """
    gecos = ",".join(str(each or "") for each in (fullname, roomnumber, workphone, homephone, other)).rstrip(",")
    options: list[Any] = ["-D", "-g", gecos]
    if uid not in {None, ""}:
        options += ["-u", uid]
    if gid not in {None, ""}:
        options += ["-G", _name_of(gid, root)]
    if home is not None:
        options += ["-h", home]
    if shell:
        options += ["-s", shell]
    if system:
        options.append("-S")
    if not createhome:
        options.append("-H")
    if not _succeeds("adduser", *options, "--", name, root=root):
        return False
    if groups:
        chgroups(name, groups, append=True, root=root)
    return True


def delete(name: str, remove: bool = False, force: bool = False, root: str | None = None, local: bool = False) -> bool:
    """Remove a user, with ``remove`` the home directory too; True if that worked."""
    return _succeeds("deluser", *(["--remove-home"] if remove else []), "--", name, root=root)


def rename(name: str, new_name: str, root: str | None = None) -> bool:
    """Rename a user. CommandExecutionError if there is one of the new name, or none of the old."""
    if info(new_name, root):
        raise CommandExecutionError(f"User '{new_name}' already exists")
    if not new_name.isprintable() or new_name.startswith("-") or {*new_name} & {*":,/ "}:
        raise CommandExecutionError(f"{new_name!r} cannot be the name of a user")
    database.required(name, root)
    for file in (PASSWD, SHADOW):
        if os.path.exists(_account_files.path_of(file, root)):
            _account_files.change_row(file, name, lambda row: [new_name, *row[1:]], root)
    _account_files.change_rows(GROUP, lambda rows: [_renamed_member(row, name, new_name) for row in rows], root)
    return bool(info(new_name, root))


def chuid(name: str, uid: Any, root: str | None = None) -> bool:
    """Change a user's UID; who owns which file stays as it is."""
    return _change(name, _UID, str(uid), root)


def chgid(name: str, gid: Any, root: str | None = None) -> bool:
    """Change a user's primary group, given by number or name."""
    group = database.group(gid, root) if isinstance(gid, str) else None
    return _change(name, _GID, str(group.gr_gid if group else gid), root)


def chshell(name: str, shell: str, root: str | None = None) -> bool:
    """Change a user's login shell."""
    return _change(name, _SHELL, shell, root)


def chhome(name: str, home: str, persist: bool = False, root: str | None = None) -> bool:
    """Change a user's home directory; ``persist`` moves it, if the new place is free."""
    old = database.required(name, root).pw_dir
    changed = _change(name, _HOME, home, root)
    if changed and persist and old != home:
        source, target = (os.path.join(root or "/", path.lstrip("/")) for path in (old, home))
        if filesystem.is_directory(source) and not filesystem.lexists(target):
            filesystem.move(source, target)
    return changed


def chgroups(name: str, groups: Any, append: bool = False, root: str | None = None) -> bool:
    """Put a user into these groups, and with ``append`` False out of all others. A text is split at commas."""
    wanted = set(groups.split(",") if isinstance(groups, str) else map(str, groups))
    missing = sorted(group for group in wanted if database.group(group, root) is None)
    if missing:
        raise CommandExecutionError(f"The following group(s) are not present: {','.join(missing)}")

    def change(row: Row) -> Row:
        if len(row) != 4:
            return row
        members = [each for each in row[3].split(",") if each]
        if row[0] in wanted and name not in members:
            members.append(name)
        elif row[0] not in wanted and not append and name in members:
            members.remove(name)
        return [*row[:3], ",".join(members)]

    _account_files.change_rows(GROUP, lambda rows: [change(row) for row in rows], root)
    return True


def chfullname(name: str, fullname: Any, root: str | None = None) -> bool:
    """Change a user's full name."""
    return _describe(name, root, fullname=fullname)


def chroomnumber(name: str, roomnumber: Any, root: str | None = None) -> bool:
    """Change a user's room number."""
    return _describe(name, root, roomnumber=roomnumber)


def chworkphone(name: str, workphone: Any, root: str | None = None) -> bool:
    """Change a user's work phone number."""
    return _describe(name, root, workphone=workphone)


def chhomephone(name: str, homephone: Any, root: str | None = None) -> bool:
    """Change a user's home phone number."""
    return _describe(name, root, homephone=homephone)


def chother(name: str, other: Any, root: str | None = None) -> bool:
    """Change the remainder of a user's description."""
    return _describe(name, root, other=other)


def _describe(name: str, root: str | None, **parts: Any) -> bool:
    texts = {key: "" if value is None else str(value) for key, value in parts.items()}
    return _change(name, _GECOS, database.gecos_text(database.required(name, root), **texts), root)


def _change(name: str, field: int, value: str, root: str | None) -> bool:
    database.required(name, root)
    if ":" in value or "\n" in value:
        raise CommandExecutionError(f"{value!r} cannot stand in /etc/passwd")
    _account_files.change_row(PASSWD, name, lambda row: [*row[:field], value, *row[field + 1 :]], root)
    return True


def _renamed_member(row: Row, name: str, new_name: str) -> Row:
    if len(row) != 4:
        return row
    return [*row[:3], ",".join(new_name if each == name else each for each in row[3].split(","))]


def _name_of(gid: Any, root: str | None) -> str:
    """Return a group's name, which is what adduser wants."""
    return next((entry.gr_name for entry in database.groups(root) if str(entry.gr_gid) == str(gid)), str(gid))


def _succeeds(applet: str, *arguments: Any, root: str | None) -> bool:
    with _account_files.one_at_a_time():
        command = [*_busybox.argv(applet, root), *map(str, arguments)]
        return bool(__salt__["cmd.run_all"](command, python_shell=False)["retcode"] == 0)
