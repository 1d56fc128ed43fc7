"""The only conversion of values to plain data and to JSON: for rows, events, reports and any value from a plugin.

No value is refused, and every value is checked: a value that raises when it is read, contains itself, or never ends
becomes a text that says so. Rows are reduced when a state function returns (`asyncstate.run.rows`), so all later code
can rely on plain data.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from asyncstate.model.chunk import fresh
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

DEEPEST = 100
"""Levels of nesting that are kept; deeper values become ``"..."``."""
_WRITTEN = 900
"""Levels of nesting that msgspec writes directly. Its own limit depends on the version of Python."""
_MOST = 4_000_000
"""The number of items one value may hold; each 128 characters of a text count as one. The rest becomes ``"..."``."""
_REPEATED = 100_000
"""The number of repetitions among these items: a small value can be huge once its repetitions are written out."""
_BATCH = 1000
_LONG = 128
_LONGEST_INTEGER = 14_000
"""Bits of a number that Python still writes in decimal (4,300 digits)."""
CUT = "..."
"""Replaces the rest of a value that was too deep, too large, or contained itself."""

_AS_IS = frozenset({str, int, float, bool, type(None)})
_ATOMS = frozenset({float, bool, type(None)})

JSON: Final = msgspec.json.Encoder()
"""Writes plain data, and structs of it, as JSON."""
SORTED: Final = msgspec.json.Encoder(order="deterministic")
"""Writes equal data always in the same way."""
_BEGINNING = 512
"""The buffer size in bytes that suffices for most values."""


class _Encoder(Protocol):
    def encode_into(self, obj: Any, buffer: bytearray, /) -> None:
        """Write ``obj`` into ``buffer``."""


def encoded(value: Any, encoder: _Encoder = JSON) -> bytes:
    """Return the output of ``encoder``. Raises its exceptions, and MemoryError.

    Without memory, the encoder's own ``encode`` ends the process with SIGSEGV (msgspec 0.22), and it is slower for
    short values.
    """
    buffer = bytearray(_BEGINNING)
    encoder.encode_into(value, buffer)
    return bytes(buffer)


def json_bytes(value: Any, indent: int = 4, *, reduced: bool = False) -> bytes:
    """Encode ``value`` as JSON in UTF-8; values that are not plain data are first reduced to it, as `plain` does.

    ``reduced``: it is known to be plain data, such as rows. Looking at it takes longer than encoding it.
    """
    try:
        data = encoded(value if reduced or _is_plain(value) else plain(value))
    except (TypeError, ValueError, OverflowError, RecursionError):  # lone surrogates, huge numbers, depth
        data = encoded(plain(value))
    return msgspec.json.format(data, indent=indent) if indent else data


def json_pieces(value: Any, indent: int = 4, *, reduced: bool = False) -> Iterator[bytes]:
    """Yield the output of `json_bytes` in pieces: the members of a large dict or list are encoded a thousand at a time.

    So the report of a large run is never held as a whole. Where memory runs out, members are encoded one at a time.
    """
    kind, size = type(value), _BATCH
    is_mapping = kind is dict and all(type(key) is str for key in value)
    if len(value) <= _BATCH if is_mapping or kind is list else True:
        try:
            whole = json_bytes(value, indent, reduced=reduced)
        except MemoryError:
            if not (is_mapping or kind is list) or len(value) < 2:
                raise
            size = 1
        else:
            yield whole
            return
    if is_mapping:
        batches: Iterator[Any] = map(dict, _batches(value.items(), size))
        opening, closing = b"{", b"}"
    else:
        batches, opening, closing = _batches(value, size), b"[", b"]"
    ended = b"\n" if indent else b""
    before = opening
    for batch in batches:
        yield before
        yield json_bytes(batch, indent, reduced=reduced)[1 : -1 - len(ended)]
        before = b","
    yield ended + closing


def _batches(members: Iterable[Any], size: int) -> Iterator[list[Any]]:
    each = iter(members)
    while batch := list(islice(each, size)):
        yield batch


def _is_plain(value: Any) -> bool:
    """Return whether msgspec may write a value: it converts types that JSON lacks in its own way, without a limit."""
    level, looked_at = [value], set()
    for _ in range(_WRITTEN):
        below: list[Any] = []
        for item in level:
            kind = type(item)
            if kind in _AS_IS:
                continue
            if id(item) in looked_at:
                if item:
                    return False  # a value with many references may be huge once it is written out
                continue
            looked_at.add(id(item))
            if kind is dict:
                for key in item:
                    if type(key) is not str:
                        return False
                below.extend(item.values())
            elif kind is list or kind is tuple:
                below.extend(item)
            elif issubclass(kind, msgspec.Struct):
                below.extend(getattr(item, name) for name in kind.__struct_fields__)
            else:
                return False
        if not below:
            return True
        level = below
    return False


def plain(value: Any) -> Any:
    """Reduce ``value`` to dicts with string keys, lists, strings, numbers, booleans and None; never raises.

    Bytes become text, sets become sorted lists, other types their ``str``; characters that UTF-8 cannot encode become
    escapes. A container that contains itself, is nested deeper than `DEEPEST` or holds too much is cut with ``"..."``.
    The result shares no container with ``value``, and contains none twice.
    """
    return Reduction().of(value)


class _Known(Value):
    """A reduced container: its numbers of items and levels. ``value`` is kept alive, so its ``id`` stays unique."""

    value: Any
    reduced: Any
    size: int
    height: int


class Reduction:
    """One reduction to plain data; ``forgotten`` names the awaitables in it, which the plugin forgot to await.

    Coroutines among them are closed.
    """

    __slots__ = ("_above", "_known", "_left", "_reached", "_repeatable", "forgotten")

    def __init__(self) -> None:
        self.forgotten: list[str] = []
        self._above: set[int] = set()
        self._known: dict[int, _Known] = {}
        self._left = _MOST
        self._repeatable = _REPEATED
        self._reached = 0

    def of(self, value: Any) -> Any:
        """Return ``value`` as plain data."""
        kind = type(value)
        if kind is str:
            return value if len(value) < _LONG and value.isascii() else self._text(value)
        if kind in _ATOMS:
            return value
        if (kind is dict or kind is list) and not value:
            return kind()
        try:
            return self._any(value, kind)
        except BaseException:  # noqa: BLE001 - foreign code runs here: properties, iterators, __str__
            return _unreadable(value)

    def key(self, value: Any) -> str:
        """Return the key of a mapping as a string."""
        reduced = self.of(value)
        if type(reduced) is str:
            return reduced
        return str(tuple(reduced) if issubclass(type(value), tuple) and type(reduced) is list else reduced)

    def _any(self, value: Any, kind: type) -> Any:
        if issubclass(kind, dict):
            return self._within(value, self._mapping)
        if issubclass(kind, (list, tuple)):
            return self._within(value, self._items)
        if issubclass(kind, int):
            number = int.__int__(value)
            return number if number.bit_length() < _LONGEST_INTEGER else f"<integer of {number.bit_length()} bits>"
        if issubclass(kind, str):
            return self._text(str.__str__(value))
        if issubclass(kind, float):
            return float.__float__(value)
        if issubclass(kind, (bytes, bytearray, memoryview)):
            return self._text(memoryview(value).tobytes().decode("utf-8", "backslashreplace"))
        if issubclass(kind, Mapping):
            return self._within(value, self._mapping)
        if issubclass(kind, AbstractSet):
            return self._within(value, lambda items: sorted(self._items(items), key=str))
        if issubclass(kind, msgspec.Struct):
            return self._within(value, self._struct)
        return self._shown(value)

    def _within(self, value: Any, reduce: Callable[[Any], Any]) -> Any:
        """Reduce a container; copy the result if the container was reduced before."""
        depth = len(self._above)
        if id(value) in self._above or depth >= DEEPEST or self._left <= 0:
            return CUT
        known = self._known.get(id(value))
        if known is not None:
            if known.size > self._repeatable or known.height + depth > DEEPEST:
                return CUT
            self._repeatable -= known.size
            self._left -= known.size
            return fresh(known.reduced)  # a row contains no container twice
        outer, left = self._reached, self._left
        self._above.add(id(value))
        self._reached = depth + 1
        try:
            reduced = reduce(value)
        finally:
            self._above.remove(id(value))
        self._known[id(value)] = _Known(value, reduced, max(1, left - self._left), self._reached - depth)
        self._reached = max(outer, self._reached)
        return reduced

    def _items(self, value: Any) -> list[Any]:
        kind = type(value)
        own = list if issubclass(kind, list) else tuple if issubclass(kind, tuple) else None
        items = list(own.__iter__(value) if own is not None else value)
        kept = items if len(items) <= self._left else items[: self._left]
        self._left -= len(kept)
        reduced = [self.of(item) for item in kept]
        return reduced if kept is items else [*reduced, CUT]

    def _mapping(self, value: Any) -> dict[str, Any]:
        try:
            items = list(value.items())
        except BaseException:
            if not issubclass(type(value), dict):
                raise
            items = list(dict.items(value))
        kept = items if len(items) <= self._left else items[: self._left]
        self._left -= len(kept)
        of, key_of = self.of, self.key
        reduced = {key if type(key) is str and key.isascii() else key_of(key): of(item) for key, item in kept}
        return reduced if kept is items else {**reduced, CUT: CUT}

    def _struct(self, value: msgspec.Struct) -> dict[str, Any]:
        config = value.__struct_config__
        tag = {config.tag_field: config.tag} if config.tag_field else {}
        return {**tag, **{name: self.of(getattr(value, name)) for name in value.__struct_fields__}}

    def _shown(self, value: Any) -> str:
        if hasattr(type(value), "__await__"):
            return self._forgotten(value)
        return self._text(str.__str__(str(value)))

    def _forgotten(self, value: Any) -> str:
        name = _name_of_awaitable(value)
        self.forgotten.append(name)
        close = getattr(value, "close", None)
        if close is not None:
            try:
                close()
            except BaseException:  # noqa: BLE001 - a coroutine that has begun may refuse to end
                return f"<{name}, not awaited and not closed>"
        return f"<{name}, not awaited>"

    def _text(self, value: str) -> str:
        self._left -= len(value) // _LONG
        return utf8(value) if self._left >= 0 else CUT


def utf8(value: str) -> str:
    """Return a text that UTF-8 can encode: lone surrogates (of file names) are written as escapes."""
    return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()


def _name_of_awaitable(value: Any) -> str:
    code = getattr(value, "cr_code", None)
    name = getattr(value, "__qualname__", None)
    if type(name) is not str:
        return utf8(repr(value)).strip("<>").removeprefix("pending ")
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code is not None else name


def _unreadable(value: Any) -> str:
    return f"<{type.__dict__['__name__'].__get__(type(value))}, which cannot be shown>"
