"""The ``user`` execution module: reading the user database."""

from __future__ import annotations

import grp
import os
import pwd
from typing import Any

from asyncstate.errors import CommandExecutionError

_GECOS = ("fullname", "roomnumber", "workphone", "homephone", "other")


def info(name: str, root: str | None = None) -> dict[str, Any]:
    """Return what the database says of a user, {} if it knows none. ``root`` reads the files of that tree."""
    try:
        entry = _in_root(root)[name] if root else pwd.getpwnam(name)
    except (KeyError, TypeError):  # a template may ask with an undefined variable, or a number
        return {}
    return _described(entry)


def getent(refresh: bool = False, root: str | None = None) -> list[dict[str, Any]]:
    """Return what the database says of every user."""
    return [_described(entry) for entry in (_in_root(root).values() if root else pwd.getpwall())]


def list_users(root: str | None = None) -> list[str]:
    """Return the names of all users, sorted."""
    return sorted(_in_root(root) if root else (entry.pw_name for entry in pwd.getpwall()))


def list_groups(name: str) -> list[str]:
    """Return the names of all groups a user is in, sorted; [] for an unknown user."""
    try:
        gids = os.getgrouplist(name, pwd.getpwnam(name).pw_gid)
    except KeyError:
        return []
    return sorted(_group_name(gid) for gid in gids)


def primary_group(name: str) -> str:
    """Return the name of a user's primary group."""
    try:
        return _group_name(pwd.getpwnam(name).pw_gid)
    except KeyError:
        raise CommandExecutionError(f"User '{name}' does not exist") from None


def current() -> str:
    """Return the name of the user this process runs as."""
    return pwd.getpwuid(os.geteuid()).pw_name


def _described(entry: pwd.struct_passwd) -> dict[str, Any]:
    gecos = entry.pw_gecos.split(",", 4)
    gecos += [""] * (5 - len(gecos))
    return {
        "gid": entry.pw_gid,
        "groups": list_groups(entry.pw_name),
        "home": entry.pw_dir,
        "name": entry.pw_name,
        "passwd": entry.pw_passwd,
        "shell": entry.pw_shell,
        "uid": entry.pw_uid,
        **dict(zip(_GECOS, gecos, strict=True)),
    }


def _group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def _in_root(root: str) -> dict[str, pwd.struct_passwd]:
    path = os.path.join(root, "etc/passwd")
    try:
        with open(path, encoding="utf-8") as file:
            rows = [line.strip().split(":") for line in file]
    except OSError as error:
        raise CommandExecutionError(f"Cannot read {path}: {error.strerror}") from error
    return {
        row[0]: pwd.struct_passwd((row[0], row[1], int(row[2]), int(row[3]), row[4], row[5], row[6]))
        for row in rows
        if len(row) == 7
    }
