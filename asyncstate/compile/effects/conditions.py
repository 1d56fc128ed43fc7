"""What the conditions of a state read."""

from __future__ import annotations

import re
from typing import Any

_CONDITIONS = ("onlyif", "unless", "creates", "check_cmd")
_ABSOLUTE_PATH = re.compile(r"""(?<![^\s'"`;|&<>()=,])/[^\s'"`;|&<>()$*?{}\[\],\\:]+""")
_NOT_FILES = ("/dev/", "/proc/", "/sys/")


def conditions_read(args: dict[str, Any]) -> tuple[str, ...] | None:
    """Return the files that the conditions of a state name; None if it has no conditions.

    Each name covers the tree below it: a condition may test what is in a folder, or whether the folder exists, which
    may depend on a state that made it for a file.
    """
    if args.keys().isdisjoint(_CONDITIONS):
        return None
    found: dict[str, None] = {}
    stack = [args[key] for key in _CONDITIONS if key in args]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            paths = _ABSOLUTE_PATH.findall(value)
            found.update((f"path:{path}/**", None) for path in paths if not path.startswith(_NOT_FILES))
        elif isinstance(value, (list, tuple)):
            stack.extend(value)
        elif isinstance(value, dict):
            stack.extend(value.values())
    return tuple(found)
