"""The environment of child processes: this process's own, with what ``environ.setenv`` changed laid over it.

The process environment itself is never written: several runtimes and many chunks share it. The overlay lives in
``__context__``, so it lasts as long as the runtime.
"""

from __future__ import annotations

import os
from typing import cast

from asyncstate import dunders

_KEY = "environ.overlay"


def overlay() -> dict[str, str | None]:
    """Return the changes of the current runtime: a value, or None for a variable that was removed."""
    context = dunders.context.current.get(None)
    if context is None:
        return {}
    return cast("dict[str, str | None]", context.context.setdefault(_KEY, {}))


def effective_environ() -> dict[str, str]:
    """Return a fresh dict of the variables a child process starts from."""
    environ = os.environ.copy()
    for key, value in list(overlay().items()):
        if value is None:
            environ.pop(key, None)
        else:
            environ[key] = value
    return environ
