"""The ``data`` execution module: small values that are kept between runs, in ``<cachedir>/datastore.json``."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

from asyncstate import filesystem
from asyncstate.data import formats, paths
from asyncstate.dunders import __opts__
from asyncstate.errors import CommandExecutionError

__func_alias__ = {"items_": "items", "keys_": "keys", "values_": "values"}

_writing = threading.Lock()


def load() -> dict[str, Any]:
    """Return everything that is stored."""
    try:
        with filesystem.open_text(_path()) as file:
            stored = formats.json_data(file.read())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CommandExecutionError(f"Cannot read {_path()}: {error}") from error
    return stored if isinstance(stored, dict) else {}


def dump(new_data: Any) -> bool:
    """Replace everything by a dict, or by that of a JSON text; return False for any other value."""
    if isinstance(new_data, str):
        try:
            new_data = formats.json_data(new_data)
        except ValueError:
            return False
    if not isinstance(new_data, dict):
        return False
    with _writing:
        _store(new_data)
    return True


def update(key: str, value: Any) -> bool:
    """Store one value."""
    with _writing:
        _store({**load(), key: value})
    return True


def get(key: str | list[str], default: Any = None) -> Any:
    """Return the value under a colon path; for several keys, a list of values."""
    stored = load()
    if isinstance(key, str):
        return paths.traverse(stored, key, default)
    return [stored[name] for name in key if name in stored]


def has_key(key: str) -> bool:
    """Return whether a key is stored."""
    return key in load()


def keys_() -> list[str]:
    """Return the stored keys."""
    return list(load())


def values_() -> list[Any]:
    """Return the stored values."""
    return list(load().values())


def items_() -> dict[str, Any]:
    """Return everything that is stored, as `load` does."""
    return load()


def pop(key: str, default: Any = None) -> Any:
    """Remove a key and return its value."""
    with _writing:
        stored = load()
        value = stored.pop(key, default)
        _store(stored)
    return value


def clear() -> bool:
    """Remove everything."""
    return dump({})


def cas(key: str, value: Any, old_value: Any) -> bool:
    """Store a value if the stored one is ``old_value``; return whether it was."""
    with _writing:
        stored = load()
        if key not in stored or stored[key] != old_value:
            return False
        _store({**stored, key: value})
    return True


def _path() -> str:
    return os.path.join(__opts__["cachedir"], "datastore.json")


def _store(data: dict[str, Any]) -> None:
    try:
        text = json.dumps(data)
        filesystem.makedirs(__opts__["cachedir"], exist_ok=True)
        filesystem.replace_text(_path(), text)
    except (OSError, TypeError, ValueError) as error:
        raise CommandExecutionError(f"Cannot write {_path()}: {error}") from error
