"""Finds the users who can change a folder, and so everything below it."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from functools import cache

NOBODY_KNOWN = -1
"""The ID of users who cannot be named: all others, or the members of a group."""
WRITABLE = stat.S_IWGRP | stat.S_IWOTH
_ACCOUNTS = ("/etc/passwd", "/etc/group")
_ACCESS_LIST = "system.posix_acl_access"


def is_root() -> bool:
    """Return whether this process runs as root: paths are refused only if it has more rights than other users."""
    return os.geteuid() == 0


@cache
def _owner_of_everything() -> int:
    """Return the owner of ``/``, who can change everything: root, or the user mapped to root in a user namespace."""
    return os.stat("/").st_uid


def is_ours(uid: int) -> bool:
    """Return whether ``uid`` is root, or the owner of ``/``."""
    return uid == 0 or uid == _owner_of_everything()


def changer(descriptor: int, found: os.stat_result) -> int | None:
    """Return the user other than root who can change a folder's content; None for no one, `NOBODY_KNOWN` for many.

    A sticky folder of root counts as root's alone, because others cannot remove root's entries in it. See `is_shared`.
    """
    if not is_ours(found.st_uid):
        return found.st_uid
    if not found.st_mode & WRITABLE or is_shared(found):
        return None
    if found.st_mode & stat.S_IWOTH or _has_members(found.st_gid) or _has_access_list(descriptor):
        return NOBODY_KNOWN
    return None


def is_shared(found: os.stat_result) -> bool:
    """Return whether a folder is sticky, like ``/tmp``: others may create files in it, and remove only their own."""
    return bool(found.st_mode & WRITABLE) and bool(found.st_mode & stat.S_ISVTX) and is_ours(found.st_uid)


def _has_members(gid: int) -> bool:
    """Return whether a group has members other than root. Debian's ``staff``, the group of ``/usr/local``, has none."""
    return gid != 0 and _looked_up(gid, _stamps())


def _stamps() -> tuple[int, ...]:
    """Return the times at which the account files last changed: an earlier state may have added a user to a group."""
    return tuple(os.stat(path).st_mtime_ns for path in _ACCOUNTS if os.path.exists(path))


@cache
def _looked_up(gid: int, stamps: tuple[int, ...]) -> bool:  # noqa: ARG001 - part of the cache's key
    if any(entry.pw_gid == gid and entry.pw_uid != 0 for entry in pwd.getpwall()):
        return True
    try:
        return any(member != "root" for member in grp.getgrgid(gid).gr_mem)
    except KeyError:
        return True


def _has_access_list(descriptor: int) -> bool:
    """Return whether a folder's group permissions come from an access control list, which names others."""
    try:
        return _ACCESS_LIST in os.listxattr(f"/proc/self/fd/{descriptor}")
    except OSError:
        return False


def name_of(uid: int) -> str:
    """Return the name of a user for a message: ``user www-data``."""
    if uid == NOBODY_KNOWN:
        return "others than root"
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"
