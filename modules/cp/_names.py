"""Selection of names in the state tree for ``cp``."""

from __future__ import annotations

import fnmatch


def under(prefix: str, names: list[str]) -> list[str]:
    """Return the names below a folder, with the folder itself; all without a folder."""
    folder = prefix.strip("/")
    return [name for name in names if not folder or name == folder or name.startswith(f"{folder}/")]


def included(name: str, include_pat: str | None, exclude_pat: str | None) -> bool:
    """Return whether a name matches the first pattern and not the second: shell patterns, or regexes after ``E@``."""
    if include_pat and not _matches(name, include_pat):
        return False
    return not (exclude_pat and _matches(name, exclude_pat))


def _matches(name: str, pattern: str) -> bool:
    if pattern.startswith("E@"):
        import re  # noqa: PLC0415 - rarely a regular expression

        return re.search(pattern[2:], name) is not None
    return fnmatch.fnmatch(name, pattern)
