"""The ``grains`` execution module: reading grains, and writing the static ones.

Static grains are kept in the file ``grains`` beside the configuration file, as Salt does (in /etc/salt/grains if only
that exists). A change applies at once, for the rest of the run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from asyncstate import filesystem
from asyncstate.data import formats, merging, paths
from asyncstate.data import grains as data_grains
from asyncstate.dunders import __grains__, __opts__, editing
from asyncstate.errors import CommandExecutionError, InvocationError

__func_alias__ = {"set_": "set"}

_SYSTEM_GRAINS = "/etc/salt/grains"
_HOST_NAMES = ("fqdn", "id", "host", "localhost", "nodename")


def get(key: str, default: Any = "", delimiter: str = ":", ordered: bool = True) -> Any:
    """Return the value under a colon path, or ``default``."""
    return paths.traverse(__grains__, key, default, delimiter)


fetch = get


def has_value(key: str) -> bool:
    """Return whether there is anything under a colon path."""
    return paths.traverse(__grains__, key, paths.MISSING) is not paths.MISSING


def equals(key: str, value: Any) -> bool:
    """Return whether the value under a colon path equals ``value`` as text."""
    return str(value) == str(get(key))


def items(sanitize: bool = False) -> dict[str, Any]:
    """Return all grains; ``sanitize`` hides what identifies the machine."""
    return _sanitized(dict(__grains__)) if sanitize else dict(__grains__)


def item(*args: str, default: Any = "", delimiter: str = ":", sanitize: bool = False, **_: Any) -> dict[str, Any]:
    """Return the values under several colon paths."""
    found = {key: get(key, default, delimiter) for key in args}
    return _sanitized(found) if sanitize else found


def ls() -> list[str]:
    """Return the names of all grains."""
    return sorted(__grains__, key=str)


def filter_by(
    lookup_dict: Mapping[Any, Any],
    grain: str = "os_family",
    merge: Mapping[Any, Any] | None = None,
    default: str = "default",
    base: str | None = None,
) -> Any:
    """Return the entry of ``lookup_dict`` whose key (a shell pattern) matches a grain, else the entry ``default``.

    The entry overrides the entry that ``base`` names; ``merge`` overrides both.
    """
    return merging.filter_by(lookup_dict, paths.traverse(__grains__, grain, []), merge, default, base)


def setvals(grains: Mapping[str, Any], destructive: bool = False, refresh_pillar: bool = True) -> Mapping[str, Any]:
    """Set several static grains and return them. ``destructive`` removes those whose value is None.

    CommandExecutionError if the file cannot be read or written.
    """
    if not isinstance(grains, Mapping):
        raise InvocationError("setvals grains must be a dictionary.")
    path = _grains_file()
    with editing(path):
        stored = _read(path)
        for key, value in grains.items():
            if value is None and destructive:
                stored.pop(key, None)
            else:
                stored[key] = value
        _write(path, stored)
        for key, value in grains.items():
            if value is None and destructive:
                __grains__.pop(key, None)
            else:
                __grains__[key] = value
    return grains


def setval(key: str, val: Any, destructive: bool = False, refresh_pillar: bool = True) -> Mapping[str, Any]:
    """Set one static grain, by its name and not a path, and return it."""
    return setvals({key: val}, destructive, refresh_pillar)


def append(key: str, val: Any, convert: bool = False, delimiter: str = ":") -> Any:
    """Append to a list grain; ``convert`` makes another value a list first. Returns the grain, or an error text."""
    values = merging.fresh(get(key, [], delimiter))
    if convert and not isinstance(values, list):
        values = [] if values is None else [values]
    if not isinstance(values, list):
        return f"The key {key} is not a valid list"
    if val in values:
        return f"The val {val} was already in the list {key}"
    values.extend(val if isinstance(val, list) else [val])
    return setval(*_from_root(key, values, delimiter))


def remove(key: str, val: Any, delimiter: str = ":") -> Any:
    """Remove a value from a list grain. Returns the grain, or an error text."""
    values = merging.fresh(get(key, [], delimiter))
    if not isinstance(values, list):
        return f"The key {key} is not a valid list"
    if val not in values:
        return f"The val {val} was not in the list {key}"
    values.remove(val)
    return setval(*_from_root(key, values, delimiter))


def delkey(key: str, force: bool = False) -> dict[str, Any]:
    """Remove a grain, by its colon path."""
    return set_(key, None, force=force, destructive=True)


def delval(key: str, destructive: bool = False, force: bool = False) -> dict[str, Any]:
    """Set a grain to None, by its colon path, or remove it with ``destructive``."""
    return set_(key, None, force=force, destructive=destructive)


def set_(
    key: str, val: Any = "", force: bool = False, destructive: bool = False, delimiter: str = ":"
) -> dict[str, Any]:
    """Set the value under a colon path, and return ``result``, ``comment`` and ``changes``.

    A list or mapping is replaced, or replaces another value, only with ``force``. ``destructive`` removes a key whose
    new value is None.
    """
    row: dict[str, Any] = {"comment": "", "changes": {}, "result": True}
    present = get(key, paths.MISSING, delimiter)
    exists = present is not paths.MISSING
    if exists and present == val and (val is not None or not destructive):
        return {**row, "comment": "Grain is already set"}
    try:
        root, value = data_grains.with_value(__grains__, key, val, delimiter, force=force, destructive=destructive)
        row["changes"] = setval(root, value, destructive)
    except CommandExecutionError as error:
        return {"comment": str(error), "changes": {}, "result": False}
    return row


def _from_root(key: str, value: Any, delimiter: str) -> tuple[Any, Any]:
    """Return the top-level grain of a path, and its value with ``value`` put in its place."""
    while delimiter in key:
        key, _, step = key.rpartition(delimiter)
        above = merging.fresh(get(key, {}, delimiter))
        value = {**above, paths.key_in(above, step): value} if isinstance(above, dict) else above
    return paths.key_in(__grains__, key), value


def _grains_file() -> str:
    beside = os.path.join(os.path.dirname(__opts__.get("conf_file") or _SYSTEM_GRAINS), "grains")
    if not filesystem.is_file(beside) and filesystem.is_file(_SYSTEM_GRAINS):
        return _SYSTEM_GRAINS
    return beside


def _read(path: str) -> dict[str, Any]:
    try:
        with filesystem.open_read(path) as file:
            stored = formats.yaml_data(file.read())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CommandExecutionError(f"Unable to read existing grains file: {error}") from error
    return stored if isinstance(stored, dict) else {}


def _write(path: str, stored: dict[str, Any]) -> None:
    import yaml  # noqa: PLC0415 - needed only to write grains

    try:
        text = yaml.safe_dump(merging.plain(stored), default_flow_style=False, allow_unicode=True)
        filesystem.makedirs(os.path.dirname(path), exist_ok=True)
        filesystem.replace_text(path, text)
    except (OSError, yaml.YAMLError) as error:
        raise CommandExecutionError(f"Unable to write to grains file at {path}: {error}") from error


def _sanitized(grains: dict[str, Any]) -> dict[str, Any]:
    for key in grains:
        if key in _HOST_NAMES:
            grains[key] = "MINION.DOMAINNAME" if key in {"fqdn", "id"} else "MINION"
    if "domain" in grains:
        grains["domain"] = "DOMAINNAME"
    if "serialnumber" in grains:
        serial = grains["serialnumber"]
        shown = int(len(serial) * 0.75)
        grains["serialnumber"] = serial[:shown] + "X" * (len(serial) - shown)
    return grains
