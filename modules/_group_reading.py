"""The read-only functions of ``group``, the same for every provider."""

from __future__ import annotations

from typing import Any

from . import _user_database as database


def info(name: str, root: str | None = None) -> dict[str, Any]:
    """Return the entry of a group, {} if there is none. ``root`` reads the files of that tree."""
    entry = database.group(str(name), root)
    return database.group_described(entry) if entry else {}


def getent(refresh: bool = False, root: str | None = None) -> list[dict[str, Any]]:
    """Return the entries of all groups."""
    return [database.group_described(entry) for entry in database.groups(root)]


def list_groups() -> list[str]:
    """Return the names of all groups, sorted."""
    return sorted(entry.gr_name for entry in database.groups())
