"""Which names of the state tree a call of ``cp`` means."""

from __future__ import annotations

import fnmatch


def under(prefix: str, names: list[str]) -> list[str]:
    """Return the names below a folder, and its own; all without one."""
    folder = prefix.strip("/")
    return [name for name in names if not folder or name == folder or name.startswith(f"{folder}/")]


def included(name: str, include_pat: str | None, exclude_pat: str | None) -> bool:
    """Return whether a name fits the one pattern and not the other: shell patterns, or regular ones after ``E@``."""
    if include_pat and not _matches(name, include_pat):
        return False
    return not (exclude_pat and _matches(name, exclude_pat))


def _matches(name: str, pattern: str) -> bool:
    if pattern.startswith("E@"):
        import re  # noqa: PLC0415 - rarely a regular expression

        return re.search(pattern[2:], name) is not None
    return fnmatch.fnmatch(name, pattern)
