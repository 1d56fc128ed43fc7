"""Paths as a tree writes them."""

from __future__ import annotations

import re

_NOTHING = re.compile(r"/(?:\.?/|\.$)*")


def plain(path: str) -> str:
    """Return a path without doubled slashes, ``/.`` and a slash at its end, all of which only hide that it is the same.

    A link that it names is then no longer followed; ``..`` stays, for only the system knows where it leads.
    """
    short = _NOTHING.sub("/", path)
    return short[:-1] if len(short) > 1 and short.endswith("/") else short
