"""Values of options: their types, where they come from, and how a mistake in one is told."""

from __future__ import annotations

import os
import re
from typing import Any, Literal, get_args, get_origin

import msgspec

from asyncstate.errors import ConfigError

_YAML_WORDS = {"array": "a list", "object": "a mapping", "str": "text", "int": "a whole number", "float": "a number"}
_YAML_WORDS |= {"bool": "true or false", "null": "nothing"}


def convert(option: str, value: Any, wanted: Any, origin: str) -> Any:
    """Return a value as the type that an option wants. Raises ConfigError, which says where the value comes from."""
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        if get_origin(wanted) is Literal:
            raise ConfigError(
                f"{prefix_of(origin)}{option}: expected {_one_of(get_args(wanted))}, got {value!r}"
            ) from None
        raise ConfigError(f"{prefix_of(origin)}{option}: {_in_yaml_words(str(error))}") from None


def _one_of(choices: tuple[str, ...]) -> str:
    return f"{', '.join(choices[:-1])} or {choices[-1]}"


def _in_yaml_words(message: str) -> str:
    """Turn msgspec's "Expected `array`, got `int` - at `$['base']`" into YAML's terms: "expected a list, …"."""
    text, _, path = message.partition(" - at `$")

    def words(match: re.Match[str]) -> str:
        return " or ".join(_YAML_WORDS.get(name.strip(), name.strip()) for name in match[1].split("|"))

    text = re.sub(r"`([^`]*)`", words, text)
    text = text[:1].lower() + text[1:]
    return f"{text} (at {path.rstrip('`')})" if path else text


def prefix_of(origin: str) -> str:
    """Return where a value comes from, as the beginning of a message; "" if nobody knows."""
    return f"{origin.partition(' ')[2]}: " if origin else ""


def origin_file(origin: str) -> str:
    """Return the file that a value comes from; "" if it does not come from a file."""
    return origin.removeprefix("file ") if origin.startswith("file ") else ""


def base_directory(origin: str) -> str:
    """Return the base of relative paths: the folder of the file that names them, else the working directory."""
    try:
        return os.path.dirname(origin_file(origin)) or os.getcwd()
    except FileNotFoundError:
        raise ConfigError("The working directory no longer exists. Change to one that does.") from None


def copied(value: Any) -> Any:
    """Copy dicts and lists, at every level; the other values are shared."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value
