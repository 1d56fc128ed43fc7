"""Users and groups by number and by name."""

from __future__ import annotations

import grp
import os
import pwd

Account = int | str
"""A uid or gid, or "", which is Salt's value for an account that does not exist."""


def _existing(number: int) -> Account:
    """Return a number that an account can have, "" for others."""
    return number if 0 <= number < (1 << 32) - 1 else ""


def uid_to_user(uid: int) -> Account:
    """Return the name of user ``uid``, or ``uid`` itself if it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return uid


def user_to_uid(user: Account | None) -> Account:
    """Return the uid of ``user``, "" if there is no such user. None means the user that this process runs as."""
    if isinstance(user, int):
        return _existing(user)
    if user is None:
        return os.geteuid()
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return ""


def gid_to_group(gid: Account) -> Account:
    """Return the name of group ``gid``, or ``gid`` itself if it has none. Takes a group name, too."""
    try:
        number: Account = int(gid)
    except ValueError:
        number = group_to_gid(gid)
    if isinstance(number, str):
        return ""
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return number


def group_to_gid(group: Account | None) -> Account:
    """Return the gid of ``group``, "" if there is no such group or ``group`` is None."""
    if isinstance(group, int):
        return _existing(group)
    if group is None:
        return ""
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        return ""
