"""Rows, low data and anything a plugin returned, as JSON or plain data: no value is refused."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

_DEEPEST = 100
"""Levels of nesting that are written out; below that stands ``"..."``."""

_AS_IS = frozenset({str, int, float, bool, type(None)})
_BYTES = (bytes, bytearray, memoryview)


def json_bytes(value: Any, indent: int = 4) -> bytes:
    """Encode ``value``: bytes become text, sets sorted lists, other keys and values that JSON has no word for strings.

    Ten thousand rows take about ten milliseconds: msgspec does the work unless a value needs `plain` first.
    """
    try:
        encoded = msgspec.json.encode(plain(value) if _has_bytes(value) else value, enc_hook=_stand_in)
    except (TypeError, ValueError, OverflowError, RecursionError):
        encoded = msgspec.json.encode(plain(value))
    return msgspec.json.format(encoded, indent=indent) if indent else encoded


def _has_bytes(value: Any) -> bool:
    """Whether there are bytes anywhere: msgspec would write them in base64 without asking."""
    stack, looked_at = [value], set()
    while stack:
        item = stack.pop()
        if type(item) in _AS_IS:
            continue
        if isinstance(item, _BYTES):
            return True
        if isinstance(item, (dict, list, tuple)) and item:
            if id(item) in looked_at:
                continue
            looked_at.add(id(item))
            if isinstance(item, dict):
                stack.extend(item.values())
                stack.extend(key for key in item if isinstance(key, _BYTES))
            else:
                stack.extend(item)
    return False


def _stand_in(value: Any) -> Any:
    """Replace what msgspec does not know, on its fast path."""
    return plain(value)


def plain(value: Any) -> Any:
    """Reduce ``value`` to dicts with string keys, lists, strings, numbers, booleans and None.

    A container that holds itself, or is nested deeper than a hundred levels, is cut with ``"..."``.
    """
    return _plain(value, frozenset())


def _plain(value: Any, above: frozenset[int]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, _BYTES):
        return bytes(value).decode("utf-8", "backslashreplace")
    if not isinstance(value, (Mapping, AbstractSet, list, tuple)):
        return _text(str(value))
    if id(value) in above or len(above) >= _DEEPEST:
        return "..."
    above |= {id(value)}
    if isinstance(value, Mapping):
        return {_key(key): _plain(item, above) for key, item in value.items()}
    items = sorted(value, key=str) if isinstance(value, AbstractSet) else value
    return [_plain(item, above) for item in items]


def _text(value: str) -> str:
    """A plain string that UTF-8 can carry: lone surrogates (file names) are written as escapes."""
    return str(value) if value.isascii() else value.encode("utf-8", "backslashreplace").decode()


def _key(key: Any) -> str:
    return bytes(key).decode("utf-8", "backslashreplace") if isinstance(key, _BYTES) else _text(str(key))
