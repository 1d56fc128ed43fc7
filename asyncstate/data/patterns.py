"""Selection of paths by ``include_pat`` and ``exclude_pat``."""

from __future__ import annotations

import fnmatch
from typing import Any

from asyncstate.errors import CommandExecutionError

from .edits import compiled


def is_included(path: str, include_pat: Any, exclude_pat: Any) -> bool:
    """Return whether a path matches one of ``include_pat`` (if any) and none of ``exclude_pat``.

    A pattern is a glob, or a regular expression if ``E@`` stands before it. Raises CommandExecutionError if that is not
    valid.
    """
    if include_pat and not _matches(path, include_pat):
        return False
    return not (exclude_pat and _matches(path, exclude_pat))


def _matches(path: str, patterns: Any) -> bool:
    for pattern in patterns if isinstance(patterns, list) else [patterns]:
        text = str(pattern)
        if compiled(text[2:], 0).search(path) if text.startswith("E@") else fnmatch.fnmatch(path, text):
            return True
    return False


def refused_patterns(*given: Any) -> str:
    """Return the error if a path cannot be compared with one of these patterns, or lists of them."""
    try:
        for patterns in given:
            for pattern in patterns if isinstance(patterns, list) else [patterns]:
                _matches("", pattern)
    except CommandExecutionError as error:
        return str(error)
    return ""
