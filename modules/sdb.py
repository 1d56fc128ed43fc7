"""The ``sdb`` execution module: values behind ``sdb://profile/key``.

A profile is an option of that name with a ``driver``. Bundled are ``env`` (environment variables), ``json`` and
``yaml`` (a file, ``path:``); any execution module with functions ``sdb_get`` and ``sdb_set`` can be named as well.
"""

from __future__ import annotations

import os
from typing import Any

from asyncstate import filesystem
from asyncstate.data import formats, paths
from asyncstate.dunders import __opts__, __salt__
from asyncstate.errors import CommandExecutionError

from ._environ_overlay import effective_environ as _effective_environ

__func_alias__ = {"set_": "set"}

_SCHEME = "sdb://"


def get(uri: str, strict: bool = False) -> Any:
    """Return the value behind ``uri``; a string that is no such URI is returned unchanged.

    None for a key without a value. With ``strict``, a URI that cannot be looked up raises CommandExecutionError.
    """
    if not isinstance(uri, str) or not uri.startswith(_SCHEME):
        return uri
    name, slash, key = uri.removeprefix(_SCHEME).partition("/")
    profile = _profile(name)
    if not slash or profile is None:
        if strict:
            raise CommandExecutionError(f"SDB profile '{name}' wasnt found in the minion configuration")
        return uri
    return _look_up(profile, key)


def get_or_set_hash(name: str, length: int = 8, chars: str | None = None) -> Any:
    """Return the value behind a URI; if it has none, store a random string there first."""
    value = get(name, strict=True)
    if value is None:
        value = __salt__["random.get_str"](length, chars=chars, punctuation=False)
        set_(name, value)
    return value


def set_(uri: str, value: Any) -> Any:
    """Store a value, through the execution module that the profile names."""
    name, slash, key = uri.removeprefix(_SCHEME).partition("/")
    profile = _profile(name)
    if not uri.startswith(_SCHEME) or not slash or profile is None:
        return False
    function = f"{profile['driver']}.sdb_set"
    if function not in __salt__:
        raise CommandExecutionError(f"The sdb driver {profile['driver']!r} cannot store values")
    return __salt__[function](key, value, profile)


def _profile(name: str) -> dict[str, Any] | None:
    profile = __opts__.get(name)
    return profile if isinstance(profile, dict) and "driver" in profile else None


def _look_up(profile: dict[str, Any], key: str) -> Any:
    driver = profile["driver"]
    if driver == "env":
        return _effective_environ().get(key)
    if driver in {"json", "yaml"}:
        return paths.traverse(_content(profile, driver), key)
    function = f"{driver}.sdb_get"
    if function not in __salt__:
        raise CommandExecutionError(f"There is no sdb driver {driver!r}")
    return __salt__[function](key, profile)


def _content(profile: dict[str, Any], driver: str) -> Any:
    path = str(profile.get("path") or next(iter(profile.get("files") or [""])))
    if not path:
        raise CommandExecutionError("An sdb profile of this driver needs the path of a file")
    try:
        with filesystem.open_text(os.path.expanduser(path)) as file:
            text = file.read()
        return formats.json_data(text) if driver == "json" else formats.yaml_data(text)
    except (OSError, ValueError) as error:
        raise CommandExecutionError(f"Cannot read the sdb file {path}: {error}") from error
