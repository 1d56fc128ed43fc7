"""Data as the text of a file, and back: yaml, json, configparser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.data import formats, merging
from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Callable

_DEFAULTS: dict[str, dict[str, Any]] = {
    "yaml": {"default_flow_style": False},
    "json": {"indent": 2, "separators": (",", ": "), "sort_keys": True, "ensure_ascii": False},
}
_UNICODE: dict[str, dict[str, Any]] = {"yaml": {"allow_unicode": True}}


def names() -> set[str]:
    """Return the names of all serializers."""
    return set(_DUMP)


def serialize(serializer: str, data: Any, options: dict[str, Any], *, encoding: str | None) -> str:
    """Return ``data`` as text. Raises CommandExecutionError with the reason."""
    merged = {**_DEFAULTS.get(serializer, {}), **(_UNICODE.get(serializer, {}) if encoding else {}), **options}
    try:
        return _DUMP[serializer](data, merged)
    except Exception as error:  # each library has errors of its own
        raise CommandExecutionError(f"Failed to serialize the dataset: {error}") from error


def deserialize(serializer: str, text: str | bytes, options: dict[str, Any]) -> Any:
    """Return the data in a file's text. Raises CommandExecutionError with the reason."""
    try:
        text = text.decode() if isinstance(text, bytes) else text
        return _LOAD[serializer](text, options)
    except Exception as error:  # each library has errors of its own
        raise CommandExecutionError(f"Failed to deserialize existing data: {error}") from error


_DUMP: dict[str, Callable[[Any, dict[str, Any]], str]] = {
    "yaml": lambda data, options: formats.yaml_text(data, **options),
    "json": lambda data, options: formats.json_text(data, **options),
    "configparser": lambda data, options: formats.ini_text(data, **options),
}
_LOAD: dict[str, Callable[[str, dict[str, Any]], Any]] = {
    "yaml": lambda text, _: formats.yaml_data(text),
    "json": lambda text, options: formats.json_data(text, **options),
    "configparser": lambda text, options: formats.ini_data(text, **options),
}


def merged(old: Any, new: Any) -> Any:
    """Return ``old`` overridden by ``new``: mappings are merged at any depth, everything else is replaced."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return merging.update(merging.fresh(old), merging.fresh(new))


def differences(old: dict[Any, Any], new: dict[Any, Any]) -> dict[Any, Any]:
    """Return ``{key: {"old", "new"}}`` for the differences, at any depth; a missing value is ``<_null_>``."""
    found: dict[Any, Any] = {}
    for key, value in new.items():
        if key not in old:
            found[key] = {"new": value, "old": "<_null_>"}
        elif old[key] != value:
            if isinstance(old[key], dict) and isinstance(value, dict):
                inner = differences(old[key], value)
                if inner:
                    found[key] = inner
            else:
                found[key] = {"new": value, "old": old[key]}
    return found
