"""Paths in the spelling of a tree."""

from __future__ import annotations

import re

from asyncstate import filesystem

_NOTHING = re.compile(r"/(?:\.?/|\.$)*")


def plain(path: str) -> str:
    """Return a path without doubled slashes, ``/.`` and a trailing slash, so that equal paths are equal texts.

    A link is then no longer followed. ``..`` stays: only the system can resolve it.
    """
    short = _NOTHING.sub("/", path)
    return short[:-1] if len(short) > 1 and short.endswith("/") else short


def unwritable(path: str, what: str = "Cannot write") -> str:
    """Return the error of a run that cannot write a file, "" if it can; for dry runs."""
    try:
        filesystem.room_for(path, follow=True)
    except OSError as error:
        return f"{what} {path}: {error.strerror}"
    return ""
