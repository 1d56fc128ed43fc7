"""The accounts of this machine and their homes at the time of compilation."""

from __future__ import annotations

import grp
import os
import pwd


def has_account(account: str) -> bool:
    """Whether this machine has an account: ``user:www`` or ``group:www``."""
    kind, _, name = account.partition(":")
    try:
        if kind == "user":
            pwd.getpwnam(name)
        else:
            grp.getgrnam(name)
    except (KeyError, ValueError):  # ValueError: no name can be like that
        return False
    return True


def home_of(user: str) -> str:
    """Return the home of a user, "" if there is no such user. The name "" means the user of this process."""
    if not user:
        return os.path.expanduser("~")
    try:
        return pwd.getpwnam(user).pw_dir
    except (KeyError, ValueError):  # ValueError: no name can be like that
        return ""
