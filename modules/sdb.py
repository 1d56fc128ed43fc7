"""The ``sdb`` execution module: values behind ``sdb://profile/key``.

A profile is an option of that name with a ``driver``. Bundled are ``env`` (environment variables), ``json`` and
``yaml`` (a file, ``path:``); any execution module with functions ``sdb_get``, ``sdb_set`` and ``sdb_delete`` can be
named as well.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.data import formats, paths
from asyncstate.dunders import __opts__, __salt__
from asyncstate.errors import CommandExecutionError

from ._environ_overlay import effective_environ as _effective_environ

if TYPE_CHECKING:
    from collections.abc import Callable

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
    found = _found(uri)
    if found is None:
        return False
    profile, key = found
    return _changing(profile, "sdb_set", "store")(key, value, profile)


def delete(uri: str) -> Any:
    """Delete a value, through ``sdb_delete`` of the execution module that the profile names; False without one."""
    found = _found(uri)
    if found is None:
        return False
    profile, key = found
    return _changing(profile, "sdb_delete", "delete")(key, profile)


def _found(uri: Any) -> tuple[dict[str, Any], str] | None:
    """Return the profile and the key that a URI names, None if it names none."""
    if not isinstance(uri, str) or not uri.startswith(_SCHEME):
        return None
    name, slash, key = uri.removeprefix(_SCHEME).partition("/")
    profile = _profile(name)
    return None if not slash or profile is None else (profile, key)


def _changing(profile: dict[str, Any], function: str, verb: str) -> Callable[..., Any]:
    """Return a function of the execution module that a profile names. Raises CommandExecutionError if it has none."""
    name = f"{profile['driver']}.{function}"
    if name not in __salt__:
        raise CommandExecutionError(f"The sdb driver {profile['driver']!r} cannot {verb} values")
    found: Callable[..., Any] = __salt__[name]
    return found


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
