"""Selection of paths by ``include_pat`` and ``exclude_pat``."""

from __future__ import annotations

import fnmatch
import re
from typing import Any


def is_included(path: str, include_pat: Any, exclude_pat: Any) -> bool:
    """Return whether a path matches one of ``include_pat`` (if any) and none of ``exclude_pat``.

    A pattern is a glob, or a regular expression if ``E@`` stands before it.
    """
    if include_pat and not _matches(path, include_pat):
        return False
    return not (exclude_pat and _matches(path, exclude_pat))


def _matches(path: str, patterns: Any) -> bool:
    for pattern in patterns if isinstance(patterns, list) else [patterns]:
        text = str(pattern)
        if re.search(text[2:], path) if text.startswith("E@") else fnmatch.fnmatch(path, text):
            return True
    return False
