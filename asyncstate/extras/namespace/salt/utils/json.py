"""JSON: characters beyond ASCII are written as they are."""

from __future__ import annotations

import json
from json import JSONEncoder
from typing import IO, Any

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else

__all__ = ["JSONEncoder", "dump", "dumps", "find_json", "load", "loads"]


def load(fp: IO[Any], **kwargs: Any) -> Any:
    """Read an open file."""
    return kwargs.pop("_json_module", json).load(fp, **kwargs)


def loads(s: str | bytes, **kwargs: Any) -> Any:
    """Read text or bytes."""
    return kwargs.pop("_json_module", json).loads(s, **kwargs)


def dump(obj: Any, fp: IO[Any], **kwargs: Any) -> None:
    """Write to an open file."""
    kwargs.setdefault("ensure_ascii", False)
    kwargs.pop("_json_module", json).dump(obj, fp, **kwargs)


def dumps(obj: Any, **kwargs: Any) -> str:
    """Return text."""
    kwargs.setdefault("ensure_ascii", False)
    return str(kwargs.pop("_json_module", json).dumps(obj, **kwargs))


def find_json(s: str) -> Any:
    """Return the first JSON object or list in a text. Raises ValueError if there is none."""
    decoder = json.JSONDecoder()
    for at, character in enumerate(s):
        if character in "{[":
            try:
                return decoder.raw_decode(s, at)[0]
            except json.JSONDecodeError:
                continue
    raise ValueError("no JSON in the text")


__getattr__: ModuleGetattr = nothing_else(__name__)
