"""The read-only functions of ``user``, the same for every provider."""

from __future__ import annotations

import os
import pwd
from typing import Any

from . import _user_database as database


def info(name: str, root: str | None = None) -> dict[str, Any]:
    """Return the entry of a user, {} if there is none. ``root`` reads the files of that tree."""
    entry = database.user(str(name), root)
    return database.described(entry, root) if entry else {}


def getent(refresh: bool = False, root: str | None = None) -> list[dict[str, Any]]:
    """Return the entries of all users."""
    return [database.described(entry, root) for entry in database.users(root)]


def list_users(root: str | None = None) -> list[str]:
    """Return the names of all users, sorted."""
    return sorted(entry.pw_name for entry in database.users(root))


def list_groups(name: str) -> list[str]:
    """Return the names of all groups a user is in, sorted; [] for an unknown user."""
    return database.groups_of(name)


def primary_group(name: str) -> str:
    """Return the name of a user's primary group."""
    return database.group_name(database.required(name).pw_gid)


def current() -> str:
    """Return the name of this process's user."""
    return pwd.getpwuid(os.geteuid()).pw_name
