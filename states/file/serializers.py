"""Data as the text of a file, and back: yaml, json, configparser."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Callable

_DEFAULTS: dict[str, dict[str, Any]] = {
    "yaml": {"default_flow_style": False},
    "json": {"indent": 2, "separators": (",", ": "), "sort_keys": True},
}
_UNICODE: dict[str, dict[str, Any]] = {"yaml": {"allow_unicode": True}, "json": {"ensure_ascii": False}}


def names() -> set[str]:
    """Return the serializers there are."""
    return set(_DUMP)


def serialize(serializer: str, data: Any, options: dict[str, Any], *, encoding: str | None) -> str:
    """Return ``data`` as text. CommandExecutionError says why it can't be."""
    merged = {**_DEFAULTS.get(serializer, {}), **(_UNICODE.get(serializer, {}) if encoding else {}), **options}
    try:
        return _DUMP[serializer](data, merged)
    except Exception as error:  # each library has errors of its own
        raise CommandExecutionError(f"Failed to serialize the dataset: {error}") from error


def deserialize(serializer: str, text: str, options: dict[str, Any]) -> Any:
    """Return what a file's text says. CommandExecutionError says why it can't be read."""
    try:
        return _LOAD[serializer](text, options)
    except Exception as error:  # each library has errors of its own
        raise CommandExecutionError(f"Failed to deserialize existing data: {error}") from error


def _dump_yaml(data: Any, options: dict[str, Any]) -> str:
    import yaml  # noqa: PLC0415 - start-up time

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    plain = _plain(data)
    text = str(yaml.dump(plain, Dumper=dumper, **options))
    return text.removesuffix("\n...\n").removesuffix("\n")


def _load_yaml(text: str, options: dict[str, Any]) -> Any:
    import yaml  # noqa: PLC0415 - start-up time

    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - the safe loader, in C


def _dump_json(data: Any, options: dict[str, Any]) -> str:
    import json  # noqa: PLC0415 - start-up time

    return json.dumps(data, **{"ensure_ascii": True, **options})


def _load_json(text: str, options: dict[str, Any]) -> Any:
    import json  # noqa: PLC0415 - start-up time

    return json.loads(text, **options)


def _dump_ini(data: Any, options: dict[str, Any]) -> str:
    import configparser  # noqa: PLC0415 - start-up time

    if not isinstance(data, dict):
        raise TypeError(f"configparser can only serialize dictionaries, not {type(data)}")
    parser = configparser.ConfigParser(**options)
    for section, keys in data.items():
        if str(section) != configparser.DEFAULTSECT:
            parser.add_section(str(section))
        for key, value in keys.items():
            parser.set(str(section), parser.optionxform(str(key)), None if value is None else str(value))
    stream = io.StringIO()
    parser.write(stream)
    return stream.getvalue()


def _load_ini(text: str, options: dict[str, Any]) -> Any:
    import configparser  # noqa: PLC0415 - start-up time

    parser = configparser.ConfigParser(**options)
    parser.read_string(text)
    return {section: dict(parser.items(section)) for section in parser.sections()}


def _plain(data: Any) -> Any:
    """Return data in the plain types a safe dumper knows."""
    if isinstance(data, dict):
        return {_plain(key): _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain(item) for item in data]
    if isinstance(data, str):
        return str(data)
    return data


_DUMP: dict[str, Callable[[Any, dict[str, Any]], str]] = {
    "yaml": _dump_yaml,
    "json": _dump_json,
    "configparser": _dump_ini,
}
_LOAD: dict[str, Callable[[str, dict[str, Any]], Any]] = {
    "yaml": _load_yaml,
    "json": _load_json,
    "configparser": _load_ini,
}


def merged(old: Any, new: Any) -> Any:
    """Return ``old`` with ``new`` laid over it: mappings to any depth, everything else replaced."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    result = dict(old)
    for key, value in new.items():
        result[key] = merged(result[key], value) if key in result else value
    return result


def differences(old: dict[Any, Any], new: dict[Any, Any]) -> dict[Any, Any]:
    """Return ``{key: {"old", "new"}}`` for what differs, to any depth; a key that was missing is ``<_null_>``."""
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
