"""Values and frames between this process and a worker; both sides run this file.

A frame is the length of a message, in 8 bytes, and the message: JSON, in which values that JSON lacks (tuples, sets,
bytes, dates, dicts with non-text keys) are tagged, so that they arrive unchanged. A value of any other type arrives as
its text; one that has no text, is nested deeper than `DEEPEST` or contains itself arrives as a text about that.

Both sides enforce the limits: the writer of a message truncates values, and the reader refuses a message before
decoding it, so that no answer costs more memory or time than these limits allow.

It runs under every Python from 3.8 on and imports only the standard library.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import os
import struct
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

DEEPEST = 100
"""Levels of nesting that are kept."""
MOST = 1_000_000
"""Members of all containers of one message that are kept."""
LARGEST = 1 << 28
"""Bytes that one message may have."""
_OF_A_MEMBER = 6
"""The most commas and brackets of a member: each container is written with its type, each pair as a list."""
CUT = "..."
_TAG = "\x00"
_LENGTH = struct.Struct(">Q")
_PIECE = 1 << 16
_LONGEST_INTEGER = 14_000
"""The longest integer, in bits, that Python writes in decimal (4,300 digits)."""


class BrokenFrame(Exception):
    """The data received are no message."""


def encode(value: Any) -> bytes:
    """Return the frame of a value. Raises BrokenFrame if it is larger than `LARGEST`."""
    data = json.dumps(_Packing().of(value), separators=(",", ":")).encode("ascii")
    if len(data) > LARGEST:
        raise BrokenFrame(f"a message of {len(data)} bytes")
    return _LENGTH.pack(len(data)) + data


def decode(data: bytes | bytearray) -> Any:
    """Return the value of a message, without its length. Raises BrokenFrame, also beyond the limits."""
    if _is_too_much(data):
        raise BrokenFrame(f"a message of more than {MOST:,} members")
    try:
        return _unpacked(json.loads(data))
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise BrokenFrame(f"a message that cannot be read: {type(error).__name__}: {error}") from None


def _is_too_much(data: bytes | bytearray) -> bool:
    """Whether JSON text has too many values for a message, by its commas and opening brackets outside of strings."""
    left, inside = MOST * _OF_A_MEMBER, 0
    if _marks(data) <= left:
        return False
    text = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    for at in range(0, len(text), _PIECE):
        parts = text[at : at + _PIECE].split(b'"')
        left -= _marks(b"".join(parts[inside::2]))
        if left < 0:
            return True
        inside ^= (len(parts) - 1) & 1
    return False


def _marks(data: bytes | bytearray) -> int:
    return data.count(b",") + data.count(b"[") + data.count(b"{")


def is_portable(value: Any, depth: int = 0) -> bool:
    """Return whether a value arrives unchanged, without any part turned into text."""
    kind = type(value)
    if value is None or kind in _ATOMS:
        return True
    if depth >= DEEPEST:
        return False
    if kind is dict:
        return all(is_portable(key, depth + 1) and is_portable(item, depth + 1) for key, item in value.items())
    if kind in _SEQUENCES:
        return all(is_portable(item, depth + 1) for item in value)
    return False


class Reader:
    """Assembles messages from the data given to `feed`."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        """Add received data."""
        self._data += data

    def message(self) -> bytearray | None:
        """Return the next whole message, None if there is none yet. Raises BrokenFrame for an impossible length."""
        if len(self._data) < _LENGTH.size:
            return None
        length = _LENGTH.unpack_from(self._data)[0]
        if length > LARGEST:
            raise BrokenFrame(f"a message of {length} bytes")
        end = _LENGTH.size + length
        if len(self._data) < end:
            return None
        message, self._data = self._data, self._data[end:]
        del message[end:], message[: _LENGTH.size]
        return message


def write(descriptor: int, frame: bytes) -> None:
    """Write a whole frame. Raises OSError."""
    view = memoryview(frame)
    while view:
        view = view[os.write(descriptor, view[:_PIECE]) :]


def read(descriptor: int, reader: Reader) -> bytearray | None:
    """Wait for the next message, and return it; None at the end of the file. Raises BrokenFrame, OSError."""
    while True:
        message = reader.message()
        if message is not None:
            return message
        data = os.read(descriptor, _PIECE)
        if not data:
            return None
        reader.feed(data)


_ATOMS = {str, bool, int, float, bytes, dt.datetime, dt.date, dt.time}
_SEQUENCES = {list, tuple, set, frozenset}


class _Packing:
    """One conversion of a value to JSON's types."""

    def __init__(self) -> None:
        self._above: set[int] = set()
        self._left = MOST

    def of(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind is str or kind is bool or kind is float:
            return value
        try:
            return self._any(value, kind)
        except Exception:  # noqa: BLE001 - foreign code runs here: iterators, properties, __str__
            return f"<{kind.__name__}, which cannot be shown>"

    def _any(self, value: Any, kind: type) -> Any:
        if issubclass(kind, str):
            return str.__str__(value)
        if issubclass(kind, int):
            number = int.__int__(value)
            return number if number.bit_length() < _LONGEST_INTEGER else f"<integer of {number.bit_length()} bits>"
        if issubclass(kind, float):
            return float.__float__(value)
        if issubclass(kind, (bytes, bytearray, memoryview)):
            return {_TAG: "bytes", "v": base64.b64encode(bytes(value)).decode("ascii")}
        if issubclass(kind, (dt.datetime, dt.date, dt.time)):
            return {_TAG: _base_of(kind, _MOMENTS).__name__, "v": value.isoformat()}
        if issubclass(kind, Mapping):
            return self._within(value, self._mapping)
        if issubclass(kind, list):
            return self._within(value, self._items)
        if issubclass(kind, (tuple, AbstractSet)):
            tag = "tuple" if issubclass(kind, tuple) else "frozenset" if issubclass(kind, frozenset) else "set"
            return self._within(value, lambda items: {_TAG: tag, "v": self._items(items)})
        return str.__str__(str(value))

    def _within(self, value: Any, pack: Callable[[Any], Any]) -> Any:
        if id(value) in self._above or len(self._above) >= DEEPEST:
            return CUT
        self._above.add(id(value))
        try:
            return pack(value)
        finally:
            self._above.remove(id(value))

    def _counted(self, items: list[Any]) -> list[Any]:
        kept = items[: max(self._left, 0)]
        self._left -= len(kept)
        return kept

    def _mapping(self, value: Mapping[Any, Any]) -> Any:
        items = self._counted(list(value.items()))
        if all(type(key) is str and key != _TAG for key, _ in items):
            return {key: self.of(item) for key, item in items}
        return {_TAG: "dict", "v": [[self.of(key), self.of(item)] for key, item in items]}

    def _items(self, value: Any) -> list[Any]:
        return [self.of(item) for item in self._counted(list(value))]


def _base_of(kind: type, bases: tuple[type, ...]) -> type:
    return next(base for base in bases if issubclass(kind, base))


_MOMENTS = (dt.datetime, dt.date, dt.time)
_UNPACKERS: dict[str, Callable[[Any, int], Any]] = {
    "dict": lambda items, depth: {_hashable(_unpacked(key, depth)): _unpacked(item, depth) for key, item in items},
    "tuple": lambda items, depth: tuple([_unpacked(item, depth) for item in items]),
    "set": lambda items, depth: {_hashable(_unpacked(item, depth)) for item in items},
    "frozenset": lambda items, depth: frozenset([_hashable(_unpacked(item, depth)) for item in items]),
    "bytes": lambda text, _depth: base64.b64decode(text),
    "datetime": lambda text, _depth: dt.datetime.fromisoformat(text),
    "date": lambda text, _depth: dt.date.fromisoformat(text),
    "time": lambda text, _depth: dt.time.fromisoformat(text),
}


def _unpacked(value: Any, depth: int = 0) -> Any:
    """Return the original of a converted value. Raises BrokenFrame if containers are nested deeper than `DEEPEST`."""
    kind = type(value)
    if kind is not list and kind is not dict:
        return value
    depth += 1
    if depth > DEEPEST:
        raise BrokenFrame(f"a message that is nested deeper than {DEEPEST} levels")
    if kind is list:
        return [_unpacked(item, depth) for item in value]
    tag = value.get(_TAG)
    if tag is not None:
        return _UNPACKERS[tag](value["v"], depth)
    return {key: _unpacked(item, depth) for key, item in value.items()}


def _hashable(value: Any) -> Any:
    """Return a key or a member of a set: a value that arrived as a list or dict becomes its text."""
    try:
        hash(value)
    except TypeError:
        return str(value)
    return value
