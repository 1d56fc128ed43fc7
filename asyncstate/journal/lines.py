"""The two most frequent lines of a log, in a short form made without an event: for runs that only the journal reads.

They are arrays, with fields in the order of the types below. `read_line` gives the events back.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

from asyncstate.model.chunk import state_tag
from asyncstate.model.encode import JSON
from asyncstate.model.event import ChunkFinished, ChunkStarted
from asyncstate.model.result import Row

if TYPE_CHECKING:
    from asyncstate.model.chunk import LowChunk

SHORT = b"["
"""The prefix of a short line."""
_NEWLINE = ord("\n")
_PASSWORD = ord("@")
"""A character that every URL with a password has."""
_NO_LINE = (TypeError, ValueError, OverflowError, RecursionError)


class _Started(msgspec.Struct, array_like=True, tag="started", gc=False):
    run_id: str
    seq: int
    time: float
    state: str
    id: str
    name: str
    fun: str
    sls: str
    check: bool


class _Finished(msgspec.Struct, array_like=True, tag="finished", gc=False):
    run_id: str
    seq: int
    time: float
    tag: str
    row: Row
    why: str
    check: bool


@cache
def _decoder() -> msgspec.json.Decoder[_Started | _Finished]:
    """Return the decoder of lines, which takes as long to make as to write hundreds: few commands read any."""
    return msgspec.json.Decoder(_Started | _Finished)


def started_line(line: bytearray, run_id: str, seq: int, seconds: float, chunk: LowChunk, *, check: bool) -> bool:
    """Make ``line`` that of a `ChunkStarted`; return False if it may show a password, or has no short form."""
    if type(chunk.name) is not str:  # what ``names`` lists
        return False
    try:
        started = _Started(run_id, seq, seconds, chunk.state, chunk.id, chunk.name, chunk.fun, chunk.sls, check)
        JSON.encode_into(started, line)
    except _NO_LINE:
        return False
    line.append(_NEWLINE)
    return _PASSWORD not in line


def finished_line(
    line: bytearray, run_id: str, seq: int, seconds: float, tag: str, *, row: Row, why: str, check: bool
) -> bool:
    """Make ``line`` that of a `ChunkFinished` without sub-states; return False as `started_line` does."""
    try:
        JSON.encode_into(_Finished(run_id, seq, seconds, tag, row, why, check), line)
    except _NO_LINE:
        return False
    line.append(_NEWLINE)
    return _PASSWORD not in line


def read_line(line: bytes) -> ChunkStarted | ChunkFinished:
    """Return the event of a line. Raises msgspec.MsgspecError or UnicodeError if it has none."""
    said = _decoder().decode(line)
    if isinstance(said, _Finished):
        return ChunkFinished(
            run_id=said.run_id, seq=said.seq, time=said.time, tag=said.tag, row=said.row, why=said.why, check=said.check
        )
    return ChunkStarted(
        run_id=said.run_id,
        seq=said.seq,
        time=said.time,
        tag=state_tag(said.state, said.id, said.name, said.fun),
        function=f"{said.state}.{said.fun}",
        id=said.id,
        name=said.name,
        sls=said.sls,
        check=said.check,
    )
