"""Small text files in which a Linux system describes itself."""

from __future__ import annotations

import os
from typing import Final

from asyncstate.pattern import lazy_pattern

_PRINTABLE: Final = lazy_pattern(rb"[ -~]+")


def read_text(root: str, path: str) -> str:
    """Return the content of a file below ``root``, "" if it does not exist or cannot be read."""
    try:
        with open(os.path.join(root, path), "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def list_names(root: str, path: str) -> list[str]:
    """Return the sorted names in a directory below ``root``, [] if it does not exist or cannot be read."""
    try:
        return sorted(os.listdir(os.path.join(root, path)))
    except OSError:
        return []


def which(program: str) -> str | None:
    """Return the executable that ``program`` names on the search path, or None.

    The system's own directories are searched even if they are not in PATH, as often in cron jobs.
    """
    if os.path.isabs(program):
        return program if os.access(program, os.X_OK) else None
    directories = [*os.environ.get("PATH", "").split(os.pathsep), "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
    for directory in dict.fromkeys(directories):
        path = os.path.join(directory, program)
        if directory and os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    return None


def text_in_binary(root: str, path: str, *begins: bytes) -> str:
    """Return the printable text in a program or library that begins with one of ``begins``; "" if there is none."""
    try:
        with open(os.path.join(root, path), "rb") as file:
            content = file.read()
    except OSError:
        return ""
    # A search for plain bytes takes a twentieth of the time of a pattern, which was a seventh of a small run.
    places = (content.find(begin) for begin in begins)
    found = next((_PRINTABLE.match(content, place) for place in places if place >= 0), None)
    return found[0].decode() if found else ""
