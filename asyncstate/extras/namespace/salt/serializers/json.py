"""JSON."""

from __future__ import annotations

import json
from typing import Any

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else
from asyncstate.extras.namespace.salt.serializers import DeserializationError, SerializationError

available = True


def deserialize(stream_or_string: Any, **options: Any) -> Any:
    """Read text, bytes or an open file. Raises DeserializationError."""
    try:
        if isinstance(stream_or_string, (str, bytes)):
            return json.loads(stream_or_string, **options)
        return json.load(stream_or_string, **options)
    except Exception as error:
        raise DeserializationError(error) from error


def serialize(obj: Any, **options: Any) -> str | None:
    """Return text, or write to the file ``fp``. Raises SerializationError."""
    options.setdefault("ensure_ascii", False)
    try:
        if "fp" not in options:
            return json.dumps(obj, **options)
        json.dump(obj, **options)
    except Exception as error:
        raise SerializationError(error) from error
    return None


__getattr__: ModuleGetattr = nothing_else(__name__)
