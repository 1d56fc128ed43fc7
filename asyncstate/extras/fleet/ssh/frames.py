"""The protocol between an operator's program and a runner, over the runner's standard streams.

A frame is its length (four bytes, big-endian) and a list in MessagePack: a number, a word, and a value. The runner
sends requests with a new number and a word of `ASKED`; the operator's side answers with that number and `OK`, `ERROR`
or `MORE`:

    [1, "put", [key, value]]        [1, "ok", None]
    [2, "watch", [pattern]]         [2, "more", [key, value, revision]]  …  until [2, "close", []]

Number 0 marks frames without an answer: `BEGIN` (the operator's first frame), `PING` (both sides, so that each notices
that the other is gone) and `BYE` (the run is over).
"""

from __future__ import annotations

import struct
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeVar

import msgspec

from asyncstate.extras.fleet.errors import BoardError, ValueTooLarge
from asyncstate.model.encode import encoded, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION: Final = 1
OK: Final = "ok"
ERROR: Final = "error"
MORE: Final = "more"
CLOSE: Final = "close"
BEGIN: Final = "begin"
PING: Final = "ping"
BYE: Final = "bye"
_KEY = tuple[str]
ASKED: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "put": tuple[str, bytes],
        "get": _KEY,
        "entries": _KEY,
        "watch": _KEY,
        "publish": tuple[str, bytes, str],
        "listing": _KEY,
        "fetch": tuple[str, str, int],
        "pillar": tuple[dict[Any, Any], str],
        CLOSE: tuple[()],
    }
)
"""The requests of a runner, with the types of their values: the board's methods but ``messages``, which no host may
read, and the tree's methods."""

HEAD: Final = 4
LARGEST: Final = 64 << 20
"""The largest frame in bytes."""
LARGEST_GRAINS: Final = 2 << 20
"""The largest grains of a host in bytes: in memory they may take sixty times as many."""
CHUNK: Final = 1 << 20
"""The largest piece of a file in one frame, in bytes."""
SILENCE: Final = 60.0
"""Seconds without a frame after which the other side is gone."""
PING_EVERY: Final = 10.0
ENVIRONMENT: Final = r"^(?!\.\.?\Z)[\w.-]{1,200}\Z"
"""The form of a saltenv in frames: it becomes a folder, here and where the file roots have ``__env__``."""

_PACKED = msgspec.msgpack.Encoder()
_LENGTH: Final = struct.Struct(">I")


class Frame(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One frame. ``word`` determines the type of ``value``."""

    number: int
    word: str
    value: Any = None


class _Sealed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One frame with its value as it came."""

    number: int
    word: str
    value: msgspec.Raw = msgspec.Raw(b"\xc0")


class Begin(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's first frame: the host's ID, and the settings of its compiler and its runs.

    ``settings`` are fields of `asyncstate.config.Settings`, ``environments`` are defined by the operator's file roots.
    """

    host: str
    settings: dict[str, Any] = {}
    environments: tuple[Annotated[str, msgspec.Meta(pattern=ENVIRONMENT)], ...] = ("base",)
    lease: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 5.0
    version: int = VERSION


class Entry(NamedTuple):
    """A value of a key: an answer to ``watch``, and a member of the answer to ``entries``."""

    key: str
    value: bytes
    revision: int


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The files of an environment: the answer to ``listing``."""

    files: list[str]
    dirs: list[str]
    empty_dirs: list[str]
    links: dict[str, str]
    states: list[str]


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a file: the answer to ``fetch``. ``mode`` are its permissions; ``last`` marks the last piece."""

    data: Annotated[bytes, msgspec.Meta(max_length=CHUNK)]
    mode: Annotated[int, msgspec.Meta(ge=0, le=0o777)]
    last: bool


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """The reason of a failure; ``issues`` are message, file, line and hint of each mistake in a pillar."""

    text: str
    issues: tuple[tuple[str, str, int, str], ...] = ()


class Pillar(msgspec.Struct, frozen=True, kw_only=True):
    """The pillar of a host, and its secrets: the answer to ``pillar``."""

    pillar: dict[Any, Any]
    secrets: tuple[str, ...] = ()


M = TypeVar("M")


def encode(number: int, word: str, value: Any = None) -> bytes:
    """Return a frame as bytes. Raises ValueTooLarge beyond `LARGEST`."""
    frame = Frame(number, word, value)
    try:
        data = encoded(frame, _PACKED)
    except (TypeError, ValueError, OverflowError, RecursionError):  # grains and pillar hold any value of plugins
        data = encoded(Frame(number, word, plain(msgspec.to_builtins(value, enc_hook=plain))), _PACKED)
    if len(data) > LARGEST:
        raise ValueTooLarge(f"a message of {len(data) >> 20} MiB is longer than the {LARGEST >> 20} MiB there may be")
    return _LENGTH.pack(len(data)) + data


def length(head: bytes) -> int:
    """Return the number of bytes after a head. Raises BoardError beyond `LARGEST`."""
    (found,) = _LENGTH.unpack(head)
    if found > LARGEST:
        raise BoardError(
            f"what comes is no frame, or one of {found >> 20} MiB: does a program print on the same stream?"
        )
    return int(found)


def decode(data: bytes) -> Frame:
    """Return the frame in the bytes after a head. Raises BoardError for anything else."""
    try:
        return msgspec.msgpack.decode(data, type=Frame)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BoardError(f"what comes is no frame: {error}") from None


def decode_asked(data: bytes) -> Frame:
    """Return the frame in the bytes that a host sent after a head; only requests have a value.

    Raises BoardError for anything but a ping and the requests of `ASKED`: before their values take any memory.
    """
    try:
        sealed = msgspec.msgpack.decode(data, type=_Sealed)
        if sealed.word == PING:
            return Frame(sealed.number, PING)
        if sealed.word not in ASKED:
            raise BoardError(f"it asks for what there is not: {sealed.word[:40]!r}")
        if sealed.word == "pillar" and len(sealed.value) > LARGEST_GRAINS:
            raise BoardError(f"its grains are longer than {LARGEST_GRAINS >> 20} MiB")
        value = msgspec.msgpack.decode(bytes(sealed.value), type=ASKED[sealed.word])
        return Frame(sealed.number, sealed.word, value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BoardError(f"what comes is no frame: {error}") from None


def value_of(value: Any, kind: type[M]) -> M:
    """Return the value of a frame as a ``kind``. Raises BoardError for anything else."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        name = getattr(kind, "__name__", str(kind))
        raise BoardError(f"a frame has no {name} as its value: {error}") from None
