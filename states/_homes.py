"""Where home directories are, as far as that is known before the accounts exist."""

from __future__ import annotations

from typing import Any


def likely_home(user: Any) -> str:
    """Return the home directory that a user most likely has; that of root if no user is given."""
    name = str(user or "root")
    return "/root" if name == "root" else f"/home/{name}"
