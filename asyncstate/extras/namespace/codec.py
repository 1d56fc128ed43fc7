"""Conversion of bytes in nested data to text, and back."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from asyncstate.data.text import encodings_of, to_bytes

_Encoding = str | Sequence[str] | None


def to_unicode(
    s: str | bytes | bytearray,
    encoding: _Encoding = None,
    errors: str = "strict",
    normalize: bool = False,
) -> str:
    """Decode bytes by the first encoding that works (default: UTF-8); text stays. Raises TypeError for anything else.

    ``normalize`` composes characters (Unicode NFC).
    """
    if isinstance(s, (bytes, bytearray)):
        s = _decoded(s, encodings_of(encoding), errors)
    elif not isinstance(s, str):
        raise TypeError(f"expected str, bytes, or bytearray not {type(s)}")
    return unicodedata.normalize("NFC", s) if normalize else s


def _decoded(data: bytes | bytearray, encodings: Sequence[str], errors: str) -> str:
    *others, last = encodings
    for each in others:
        try:
            return data.decode(each, errors)
        except UnicodeDecodeError:
            continue
    return data.decode(last, errors)


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
