"""Users and groups of this host."""

from __future__ import annotations

import grp
import os
import pwd

from asyncstate.data.host import get_uid
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else

__all__ = [
    "get_default_group",
    "get_gid",
    "get_gid_list",
    "get_group_dict",
    "get_group_list",
    "get_specific_user",
    "get_uid",
    "get_user",
]


def get_user() -> str | None:
    """Return the name of the user of this process."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return None


def get_specific_user() -> str | None:
    """Return the name of the user of this process; for root under sudo, the original user's: ``sudo_alice``."""
    user = get_user()
    before = os.environ.get("SUDO_USER")
    return f"sudo_{before}" if user == "root" and before is not None else user


def get_gid(group: str | None = None) -> int | None:
    """Return the GID of a group, None if there is no such group; without a name, the GID of this process."""
    if group is None:
        return os.getegid()
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        return None


def get_default_group(user: str) -> str | None:
    """Return the name of a user's default group."""
    return grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name


def get_group_dict(user: str | None = None, include_default: bool = True) -> dict[str, int]:
    """Return the GIDs of a user's groups by name; without ``include_default``, the default group is left out."""
    try:
        own = pwd.getpwnam(user or "").pw_gid
    except KeyError:
        return {}
    numbers = [number for number in os.getgrouplist(user or "", own) if include_default or number != own]
    return {_group_name(number): number for number in numbers}


def get_group_list(user: str, include_default: bool = True) -> list[str]:
    """Return the names of the groups of a user, sorted."""
    return sorted(get_group_dict(user, include_default))


def get_gid_list(user: str, include_default: bool = True) -> list[int]:
    """Return the numbers of the groups of a user, sorted."""
    return sorted(set(get_group_dict(user, include_default).values()))


def _group_name(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


__getattr__: ModuleGetattr = nothing_else(__name__)
