"""INI files."""

from __future__ import annotations

import configparser
import io
from typing import Any

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else
from asyncstate.extras.namespace.salt.serializers import DeserializationError, SerializationError

available = True


def deserialize(stream_or_string: Any, **options: Any) -> dict[str, dict[str, str]]:
    """Return ``{section: {option: value}}`` of text or an open file. Raises DeserializationError."""
    parser = configparser.ConfigParser(**options)
    try:
        parser.read_file(io.StringIO(stream_or_string) if isinstance(stream_or_string, str) else stream_or_string)
        return {section: dict(parser.items(section)) for section in parser.sections()}
    except Exception as error:
        raise DeserializationError(error) from error


def serialize(obj: Any, **options: Any) -> str | None:
    """Return text, or write to the file ``fp``. Raises SerializationError."""
    target = options.pop("fp", None)
    if not isinstance(obj, dict):
        raise SerializationError(f"configparser can only serialize dictionaries, not {type(obj)}")
    try:
        parser = configparser.ConfigParser(**options)
        parser.read_dict(obj)
        text = target or io.StringIO()
        parser.write(text)
        return None if target else text.getvalue()
    except Exception as error:
        raise SerializationError(error) from error


__getattr__: ModuleGetattr = nothing_else(__name__)
