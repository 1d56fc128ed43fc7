"""Conversion of bytes in nested data to text, and back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from asyncstate.data.text import to_bytes, to_unicode

_Encoding = str | Sequence[str] | None


def decode(  # noqa: PLR0917 - Salt's signature
    data: Any,
    encoding: _Encoding = None,
    errors: str = "strict",
    keep: bool = False,
    normalize: bool = False,
    preserve_dict_class: bool = False,
    preserve_tuples: bool = False,
    to_str: bool = False,  # noqa: ARG001 - text has one type
) -> Any:
    """Return the data with all bytes as text, keys too, and tuples as lists unless ``preserve_tuples``.

    Bytes that are not text raise UnicodeDecodeError; with ``keep`` they stay. Dates become ISO text.
    """

    def text(value: Any) -> Any:
        if isinstance(value, dt.datetime):
            return value.isoformat()
        if not isinstance(value, (str, bytes, bytearray)):
            return value
        try:
            return to_unicode(value, encoding, errors, normalize)
        except UnicodeDecodeError:
            if keep:
                return value
            raise

    return _converted(data, text, keep_class=preserve_dict_class, keep_tuples=preserve_tuples)


def encode(  # noqa: PLR0917 - Salt's signature
    data: Any,
    encoding: _Encoding = None,
    errors: str = "strict",
    keep: bool = False,
    preserve_dict_class: bool = False,
    preserve_tuples: bool = False,
) -> Any:
    """Return the data with all text as bytes, keys too, and tuples as lists unless ``preserve_tuples``."""

    def raw(value: Any) -> Any:
        if not isinstance(value, (str, bytes, bytearray)):
            return value
        try:
            return to_bytes(value, encoding, errors)
        except UnicodeEncodeError:
            if keep:
                return value
            raise

    return _converted(data, raw, keep_class=preserve_dict_class, keep_tuples=preserve_tuples)


def _converted(data: Any, leaf: Callable[[Any], Any], *, keep_class: bool, keep_tuples: bool) -> Any:
    def convert(value: Any) -> Any:
        if isinstance(value, Mapping):
            made: Any = type(value)() if keep_class else {}
            for key, item in value.items():
                made[convert_key(key)] = convert(item)
            return made
        if isinstance(value, list) or (isinstance(value, tuple) and not keep_tuples):
            return [convert(item) for item in value]
        if isinstance(value, tuple):
            return tuple(convert(item) for item in value)
        return leaf(value)

    def convert_key(key: Any) -> Any:
        # A list cannot be a key: there a tuple stays a tuple.
        return tuple(convert_key(part) for part in key) if isinstance(key, tuple) else leaf(key)

    return convert(data)


def decode_dict(data: Any, *args: Any, **kwargs: Any) -> Any:
    """Decode a mapping; the arguments are those of `decode`."""
    return decode(data, *args, **kwargs)


def decode_list(data: Any, *args: Any, **kwargs: Any) -> Any:
    """Decode a list or another container of items; the arguments are those of `decode`."""
    return decode(list(data), *args, **kwargs)


def decode_tuple(  # noqa: PLR0917 - Salt's signature
    data: Any,
    encoding: _Encoding = None,
    errors: str = "strict",
    keep: bool = False,
    normalize: bool = False,
    preserve_dict_class: bool = False,
    to_str: bool = False,  # noqa: ARG001 - text has one type
) -> tuple[Any, ...]:
    """Decode to a tuple; tuples inside stay tuples."""
    return tuple(decode(list(data), encoding, errors, keep, normalize, preserve_dict_class, preserve_tuples=True))
