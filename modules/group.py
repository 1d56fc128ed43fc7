"""The ``group`` execution module: reading the group database."""

from __future__ import annotations

import grp
import os
from typing import Any

from asyncstate.errors import CommandExecutionError


def info(name: str, root: str | None = None) -> dict[str, Any]:
    """Return what the database says of a group, {} if it knows none. ``root`` reads the files of that tree."""
    try:
        entry = _in_root(root)[name] if root else grp.getgrnam(name)
    except KeyError:
        return {}
    return _described(entry)


def getent(refresh: bool = False, root: str | None = None) -> list[dict[str, Any]]:
    """Return what the database says of every group."""
    return [_described(entry) for entry in (_in_root(root).values() if root else grp.getgrall())]


def list_groups() -> list[str]:
    """Return the names of all groups, sorted."""
    return sorted(entry.gr_name for entry in grp.getgrall())


def _described(entry: grp.struct_group) -> dict[str, Any]:
    return {"name": entry.gr_name, "passwd": entry.gr_passwd, "gid": entry.gr_gid, "members": list(entry.gr_mem)}


def _in_root(root: str) -> dict[str, grp.struct_group]:
    path = os.path.join(root, "etc/group")
    try:
        with open(path, encoding="utf-8") as file:
            rows = [line.strip().split(":") for line in file]
    except OSError as error:
        raise CommandExecutionError(f"Cannot read {path}: {error.strerror}") from error
    return {
        row[0]: grp.struct_group((row[0], row[1], int(row[2]), [name for name in row[3].split(",") if name]))
        for row in rows
        if len(row) == 4
    }
