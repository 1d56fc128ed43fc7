"""The environment of child processes: this process's own, with the changes of ``environ.setenv``.

The environment of the process is never changed, because several runtimes and many chunks share it. The overlay is in
``__context__``, so it lasts until the end of the run.
"""

from __future__ import annotations

import os
from typing import cast

from asyncstate import dunders

_KEY = "environ.overlay"


def overlay() -> dict[str, str | None]:
    """Return the changes of the current run: a value, or None for a removed variable."""
    context = dunders.context.current.get(None)
    if context is None:
        return {}
    return cast("dict[str, str | None]", context.context.setdefault(_KEY, {}))


def effective_environ() -> dict[str, str]:
    """Return the initial variables of a child process as a new dict."""
    environ = os.environ.copy()
    for key, value in list(overlay().items()):
        if value is None:
            environ.pop(key, None)
        else:
            environ[key] = value
    return environ
