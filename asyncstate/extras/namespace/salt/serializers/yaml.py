"""YAML, the plain dialect: unlike SLS files it has dates."""

from __future__ import annotations

from typing import Any

import yaml

from asyncstate.data.standard_yaml import load_standard_yaml
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else
from asyncstate.extras.namespace.salt.serializers import DeserializationError, SerializationError
from asyncstate.extras.namespace.salt.utils.yaml import SafeOrderedDumper

available = True

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def deserialize(stream_or_string: Any, **options: Any) -> Any:
    """Read text, bytes or an open file. Raises DeserializationError."""
    try:
        if options:
            options.setdefault("Loader", _Loader)
            return yaml.load(stream_or_string, **options)  # noqa: S506 - a safe loader, unless the caller passes another
        reads = getattr(stream_or_string, "read", None)
        return load_standard_yaml(stream_or_string if reads is None else reads())
    except Exception as error:
        raise DeserializationError(error) from error


def serialize(obj: Any, **options: Any) -> str:
    """Return block style without a final line break. Raises SerializationError."""
    options.setdefault("Dumper", SafeOrderedDumper)
    options.setdefault("default_flow_style", None)
    try:
        text = str(yaml.dump(obj, **options))
    except Exception as error:
        raise SerializationError(error) from error
    return text.removesuffix("\n...\n").removesuffix("\n")


__getattr__: ModuleGetattr = nothing_else(__name__)
