"""Where home directories are, as far as that can be said before the accounts are there."""

from __future__ import annotations

from typing import Any


def likely_home(user: Any) -> str:
    """Return the home directory a user most likely has; root's for none."""
    name = str(user or "root")
    return "/root" if name == "root" else f"/home/{name}"
