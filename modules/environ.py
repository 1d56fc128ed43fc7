"""The ``environ`` execution module: the environment that child processes start from.

Salt changes the environment of its own process. Here several runtimes and many chunks share one process, so changes
belong to the runtime: ``cmd`` and this module see them, ``os.environ`` does not.
"""

from __future__ import annotations

import logging
from typing import Any

from ._environ_overlay import effective_environ as _effective_environ
from ._environ_overlay import overlay as _overlay

log = logging.getLogger(__name__)


def setval(key: str, val: str | bool, false_unsets: bool = False, permanent: bool | str = False) -> Any:
    """Set one variable and return its value.

    False empties it, or with ``false_unsets`` removes it (and None is returned). Anything but a string or False is
    refused: the return value is False. ``permanent`` has an effect only on Windows.
    """
    if val is False and false_unsets:
        _overlay()[key] = None
        return None
    value = "" if val is False else val
    if not isinstance(key, str) or not isinstance(value, str) or not key or "=" in key or "\0" in key + value:
        log.error("environ.setval: cannot set %r to %r", key, val)
        return False
    _overlay()[key] = value
    return value


def setenv(
    environ: dict[str, Any],
    false_unsets: bool = False,
    clear_all: bool = False,
    update_minion: bool = False,
    permanent: bool | str = False,
) -> dict[str, Any] | bool:
    """Set several variables and return their new values; return False if a value is neither a string nor False.

    ``clear_all`` empties (or removes) every variable that is not named. ``update_minion`` is accepted and ignored:
    there is no other process to update.
    """
    if not isinstance(environ, dict):
        return False
    for key, val in environ.items():
        if not isinstance(val, str) and val is not False:
            log.error("environ.setenv: the value of %r is neither a string nor False: %r", key, val)
            return False
    result: dict[str, Any] = {}
    if clear_all is True:
        for key in _effective_environ():
            if key not in environ:
                result[key] = setval(key, False, false_unsets)
    for key, val in environ.items():
        result[key] = setval(key, val, false_unsets)
    return result


def get(key: str, default: Any = "") -> Any:
    """Return the value of a variable, or ``default``; False if the name is not a string."""
    return _effective_environ().get(key, default) if isinstance(key, str) else False


def has_value(key: str, value: str | None = None) -> bool:
    """Return whether a variable is set (to ``value``, if that is given)."""
    current = _effective_environ().get(key) if isinstance(key, str) else None
    return current is not None and (value is None or current == value)


def item(keys: str | list[str], default: Any = "") -> dict[str, Any]:
    """Return several variables with their values; ``default`` for those that are not set."""
    environ = _effective_environ()
    names = [keys] if isinstance(keys, str) else keys if isinstance(keys, list) else []
    return {key: environ.get(key, default) for key in names}


def items() -> dict[str, str]:
    """Return all variables."""
    return _effective_environ()
