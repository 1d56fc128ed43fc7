"""The environment of child processes: that of this process, with the changes of ``environ.setenv`` on top.

The environment of the process itself is never written, as several runtimes and many chunks share it. The overlay is in
``__context__``, so it lasts until the run ends.
"""

from __future__ import annotations

import os
from typing import cast

from asyncstate import dunders

_KEY = "environ.overlay"


def overlay() -> dict[str, str | None]:
    """Return the changes of the current run: a value, or None for a variable that was removed."""
    context = dunders.context.current.get(None)
    if context is None:
        return {}
    return cast("dict[str, str | None]", context.context.setdefault(_KEY, {}))


def effective_environ() -> dict[str, str]:
    """Return a new dict of the variables that a child process starts with."""
    environ = os.environ.copy()
    for key, value in list(overlay().items()):
        if value is None:
            environ.pop(key, None)
        else:
            environ[key] = value
    return environ
