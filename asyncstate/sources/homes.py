"""Looks up the homes of this machine's users."""

from __future__ import annotations

import os
import pwd


def home_of(user: str) -> str:
    """Return the home of a user, "" if there is no such user; that of the user who runs us for the name ""."""
    if not user:
        return os.path.expanduser("~")
    try:
        return pwd.getpwnam(user).pw_dir
    except (KeyError, ValueError):  # ValueError: no name can be like that
        return ""
