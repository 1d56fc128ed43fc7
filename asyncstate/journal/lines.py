"""The two most frequent lines of a log, written without making the events: for runs that only the journal reads.

They read back as the events do that `asyncstate.model.event.encode_event` writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from asyncstate.model.result import Row

if TYPE_CHECKING:
    from asyncstate.model.chunk import LowChunk


_encode = msgspec.json.Encoder().encode
_TELLING = b"@"
"""What a text has in which a URL shows a password."""


class _Started(msgspec.Struct, tag_field="event", tag="chunk_started", gc=False):
    run_id: str
    seq: int
    time: float
    tag: str
    function: str
    id: str
    name: str
    sls: str
    check: bool


class _Finished(msgspec.Struct, tag_field="event", tag="chunk_finished", gc=False):
    run_id: str
    seq: int
    time: float
    tag: str
    row: Row
    why: str
    check: bool


def started_line(run_id: str, seq: int, seconds: float, chunk: LowChunk, tag: str, *, check: bool) -> bytes | None:
    """Return the line of a `ChunkStarted`; None if it may show a password, or cannot be written so."""
    return _line(_Started(run_id, seq, seconds, tag, chunk.function, chunk.id, chunk.name, chunk.sls, check))


def finished_line(run_id: str, seq: int, seconds: float, tag: str, row: Row, *, why: str, check: bool) -> bytes | None:
    """Return the line of a `ChunkFinished` without sub-states; None if it may show a password, or as above."""
    return _line(_Finished(run_id, seq, seconds, tag, row, why, check))


def _line(what: msgspec.Struct) -> bytes | None:
    try:
        line = _encode(what)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    return None if _TELLING in line else line
