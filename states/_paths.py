"""Paths as a tree writes them."""

from __future__ import annotations

import re

_NOTHING = re.compile(r"/(?:\.?/|\.$)*")


def plain(path: str) -> str:
    """Return a path without doubled slashes, ``/.`` and a slash at its end, so that equal paths are equal texts.

    If it names a link, the link is then no longer followed. ``..`` stays, as only the system knows where it leads.
    """
    short = _NOTHING.sub("/", path)
    return short[:-1] if len(short) > 1 and short.endswith("/") else short
