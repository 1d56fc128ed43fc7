"""Reading accounts and groups: from the name service, or from the files of another root."""

from __future__ import annotations

import grp
import os
import pwd
from typing import Any

from asyncstate.errors import CommandExecutionError

from . import _account_files

GECOS = ("fullname", "roomnumber", "workphone", "homephone", "other")


def users(root: str | None = None) -> list[pwd.struct_passwd]:
    """Return every account. ``root`` reads the files of that tree."""
    if not root:
        return pwd.getpwall()
    return [
        pwd.struct_passwd((row[0], row[1], int(row[2]), int(row[3]), row[4], row[5], row[6]))
        for row in _account_files.read_rows(_account_files.PASSWD, root)
        if len(row) == 7
    ]


def user(name: str, root: str | None = None) -> pwd.struct_passwd | None:
    """Return an account, None if there is none of that name."""
    if root:
        return next((entry for entry in users(root) if entry.pw_name == name), None)
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def groups(root: str | None = None) -> list[grp.struct_group]:
    """Return every group. ``root`` reads the files of that tree."""
    if not root:
        return grp.getgrall()
    return [
        grp.struct_group((row[0], row[1], int(row[2]), [name for name in row[3].split(",") if name]))
        for row in _account_files.read_rows(_account_files.GROUP, root)
        if len(row) == 4
    ]


def group(name: str, root: str | None = None) -> grp.struct_group | None:
    """Return a group, None if there is none of that name."""
    if root:
        return next((entry for entry in groups(root) if entry.gr_name == name), None)
    try:
        return grp.getgrnam(name)
    except KeyError:
        return None


def groups_of(name: str, root: str | None = None) -> list[str]:
    """Return the names of all groups an account is in, sorted; [] for an unknown account."""
    entry = user(name, root)
    if entry is None:
        return []
    if not root:
        return sorted(group_name(gid) for gid in os.getgrouplist(name, entry.pw_gid))
    known = groups(root) if os.path.exists(_account_files.path_of(_account_files.GROUP, root)) else []
    return sorted(each.gr_name for each in known if name in each.gr_mem or each.gr_gid == entry.pw_gid)


def group_name(gid: int) -> str:
    """Return the name of a group, its number as text if it has none."""
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def described(entry: pwd.struct_passwd, root: str | None = None) -> dict[str, Any]:
    """Return an account as ``user.info`` shows it."""
    gecos = entry.pw_gecos.split(",", 4)
    gecos += [""] * (5 - len(gecos))
    return {
        "gid": entry.pw_gid,
        "groups": groups_of(entry.pw_name, root),
        "home": entry.pw_dir,
        "name": entry.pw_name,
        "passwd": entry.pw_passwd,
        "shell": entry.pw_shell,
        "uid": entry.pw_uid,
        **dict(zip(GECOS, gecos, strict=True)),
    }


def group_described(entry: grp.struct_group) -> dict[str, Any]:
    """Return a group as ``group.info`` shows it."""
    return {"name": entry.gr_name, "passwd": entry.gr_passwd, "gid": entry.gr_gid, "members": list(entry.gr_mem)}


def gecos_text(entry: pwd.struct_passwd, **changes: str) -> str:
    """Return the description field of an account with some of its parts changed."""
    parts = {key: value for key, value in described(entry).items() if key in GECOS} | changes
    return ",".join(parts[key] for key in GECOS).rstrip(",")


def required(name: str, root: str | None = None) -> pwd.struct_passwd:
    """Return an account. CommandExecutionError if there is none."""
    entry = user(name, root)
    if entry is None:
        raise CommandExecutionError(f"User '{name}' does not exist")
    return entry
