"""The accounts of this machine, as they are while a tree is compiled."""

from __future__ import annotations

import grp
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
