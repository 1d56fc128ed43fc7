"""The lines of a log, and the entry of a run in the journal: its summary as a whole, read from or made from them.

The two most frequent lines have a short form, made without an event: for runs that only the journal reads. They are
arrays, with fields in the order of the types below. `read_line` gives the events back.
"""

from __future__ import annotations

import os
import time
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO, get_args

import msgspec

from asyncstate.errors import JournalError
from asyncstate.model.chunk import state_tag
from asyncstate.model.encode import JSON, encoded
from asyncstate.model.event import (
    AnyEvent,
    ChunkFinished,
    ChunkStarted,
    RunFinished,
    RunStarted,
    StateEvent,
    decode_event,
)
from asyncstate.model.result import Row, changes_something, was_held_back, wrong_in_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


FINISHED = "finished"
FAILHARD = "failhard"
KILLED = "killed"
"""The ending of a run whose process or machine died."""
UNDER_WAY = "under way"
DAMAGED = "damaged: line "
UNREADABLE = "unreadable: "
"""The prefix of the ending of a run whose log cannot be read; the reason follows."""
_EVENT = (b'{"event":', SHORT)
"""The prefixes of lines that hold events; other lines are records of the journal itself."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a log. ``plan`` is the key of the plan's record, ``resumes`` the run that this one continues.

    ``about`` is the calling program's description of the run. ``boot`` and ``uptime`` are the ID of the machine's boot
    and the seconds since then, which no one can set as a clock.
    """

    journal: int = 1
    run: str
    host: str = ""
    pid: int = 0
    plan: str = ""
    resumes: str = ""
    boot: str = ""
    uptime: float = 0.0
    about: dict[str, Any] = {}


class RunEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One run. ``begun`` and ``ended`` are in seconds since the epoch; a killed run ended with its last event.

    ``ending`` is ``finished``, ``failhard``, ``cancelled: REASON``, ``killed``, ``under way``, ``damaged: line N`` or
    ``unreadable: WHY``; ``exit_code`` is None for the last four. If the log is damaged or cannot be read, only
    the ID is known; ``begun`` is then the time of the log.

    ``counts`` are numbers of states: ``chunks`` of the plan and, once it has ended, of the listeners it called,
    ``started``, ``succeeded``, ``changed`` (in a dry run, would be changed), ``failed`` of themselves, ``held_back``,
    ``not_started``; ``foretold`` is as in `RunFinished`. ``digest`` is the plan's, ``plan`` the key of its
    record, ``resumes`` the run that this one continues, ``boot``, ``uptime`` and ``about`` are the header's.
    """

    id: str
    begun: float
    ended: float | None = None
    ending: str = UNDER_WAY
    host: str = ""
    test: bool = False
    concurrency: int = 1
    digest: str = ""
    exit_code: int | None = None
    counts: dict[str, int] = {}
    foretold: dict[str, int] = {}
    plan: str = ""
    resumes: str = ""
    boot: str = ""
    uptime: float = 0.0
    about: dict[str, Any] = {}

    @property
    def is_finished(self) -> bool:
        """Whether the run came to its regular end."""
        return self.ending == FINISHED


def this_boot() -> tuple[str, float]:
    """Return the ID of the machine's boot and the seconds since then; "" and 0 if the system has no such ID."""
    try:
        with open(_BOOT, encoding="utf-8") as file:
            return file.read().strip(), time.clock_gettime(time.CLOCK_BOOTTIME)
    except (OSError, ValueError):
        return "", 0.0


def in_order(entries: Iterable[RunEntry]) -> list[RunEntry]:
    """Return runs, newest first. A clock that was set back puts no run before an earlier one of the same boot."""
    latest: dict[str, float] = {}
    begun: dict[str, float] = {}
    found = sorted(entries, key=lambda entry: entry.uptime)
    for entry in found:
        begun[entry.id] = max(entry.begun, latest.get(entry.boot, entry.begun)) if entry.boot else entry.begun
        latest[entry.boot] = begun[entry.id]
    return sorted(found, key=lambda entry: (-begun[entry.id], -entry.uptime, entry.id))


def read_header(line: bytes) -> Header | None:
    """Return the header at the start of a log; None if the line is none."""
    try:
        return msgspec.json.decode(line, type=Header)
    except (msgspec.MsgspecError, UnicodeError):
        return None


_BOOT = "/proc/sys/kernel/random/boot_id"
_TAIL = 1 << 14
_BLOCK = 1 << 16
LONGEST = 1 << 28
"""The maximum of bytes of a line that are held at once: a damaged log may be huge and have no line ends."""


class _End(msgspec.Struct, frozen=True, tag_field="record", tag="end"):
    """The last line of the log of a run that has ended."""

    run: RunEntry


def end_line(entry: RunEntry) -> bytes:
    """Return the last line of the log of a run."""
    return encoded(_End(entry)) + b"\n"


def read_end(log: BinaryIO) -> RunEntry | None:
    """Return the entry in the last line of a log; None if there is none, or it has more than `_TAIL` bytes."""
    log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL))
    lines = log.read(_TAIL).splitlines(keepends=True)
    log.seek(0)
    try:
        return msgspec.json.decode(lines[-1], type=_End).run if lines and lines[-1].endswith(b"\n") else None
    except (msgspec.MsgspecError, UnicodeError):
        return None


def lines_in(log: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a log with their ends, up to the first zero, which no line has: after it may be terabytes.

    The last line then ends with this zero. A line of more than `LONGEST` bytes comes in parts.
    """
    parts: list[bytes] = []
    room, zero = LONGEST, -1
    while zero < 0 and (block := log.read(_BLOCK)):
        zero = block.find(b"\0")
        first, *more = (block if zero < 0 else block[: zero + 1]).split(b"\n")
        parts.append(first)
        room -= len(first)
        if more:
            yield b"".join(parts) + b"\n"
            for line in more[:-1]:
                yield line + b"\n"
            parts, room = [more[-1]], LONGEST - len(more[-1])
        elif room < 0:
            yield b"".join(parts)
            parts, room = [], LONGEST
    if rest := b"".join(parts):
        yield rest


def whole_lines(log: BinaryIO) -> Iterator[bytes]:
    """Yield the intact lines of a log, up to the first that is not JSON: its end may be torn.

    Zeros may follow: space for more lines, or a page that a power cut has lost.
    """
    for line in lines_in(log):
        if not line.startswith((b"{", SHORT)) or not line.endswith((b"}\n", b"]\n")) or b"\0" in line:
            return
        yield line[:-1]


def read_event(line: bytes) -> AnyEvent | None:
    """Return the event of a line; None if it is damaged, or of a kind unknown to this version."""
    try:
        return event_of(line)
    except JournalError:
        return None


def event_of(line: bytes) -> AnyEvent | None:
    """Return the event of a line; None if it has none, or one of a kind unknown to this version.

    Raises JournalError with the reason if the line is damaged. Every row of the event has all keys that a report needs.
    """
    if line.startswith(_RECORDS):
        return None
    event: AnyEvent | None
    try:
        event = read_line(line) if line.startswith(SHORT) else decode_event(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        event = _mended(line, error)
    if event is not None and (wrong := _wrong_row(event)):
        raise JournalError(wrong)
    return event


_HEADER = b'{"journal":'
_END = b'{"record":"end"'
_RECORDS = (_HEADER, b'{"record":')
_KNOWN = frozenset(str(each.__struct_config__.tag) for each in get_args(AnyEvent))


def _mended(line: bytes, wrong: Exception) -> AnyEvent | None:
    """Read an event with a name that is no text, as ``names`` may list; None for a kind unknown to this version.

    Raises JournalError.
    """
    try:
        said: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
        kind = said.get("event")
        if isinstance(kind, str) and kind not in _KNOWN:
            return None
        said.update({key: str(said[key]) for key in ("id", "name", "sls") if key in said})
        mended: AnyEvent = msgspec.convert(said, AnyEvent)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise JournalError("it is nested too deeply" if isinstance(wrong, RecursionError) else str(wrong)) from None
    return mended


def is_event(line: bytes) -> bool:
    """Whether a line holds an event."""
    return line.startswith(_EVENT)


def _wrong_row(event: AnyEvent) -> str:
    """Return what is wrong with the rows of an event; "" if nothing is."""
    rows: dict[str, Row] = {}
    if isinstance(event, ChunkFinished):
        rows = dict(event.sub_rows)
        rows[event.tag] = event.row
    elif isinstance(event, RunFinished):
        rows = event.rows
    elif isinstance(event, StateEvent):
        rows = {event.name: event.row}
    for tag, row in rows.items():
        if wrong := wrong_in_row(row):
            return f"the row of {tag}: {wrong}"
    return ""


def events_of(lines: Iterable[bytes]) -> Iterator[AnyEvent]:
    """Yield the events among lines, without damaged ones."""
    for line in lines:
        if is_event(line) and (event := read_event(line)) is not None:
            yield event


def entry_of(header: Header, events: Iterable[AnyEvent], *, alive: bool) -> RunEntry | None:
    """Return the entry made from the events of a run; None if it did not begin. ``alive``: its process still writes.

    For a run that came to its end, the first and the last event are enough.
    """
    begun: RunStarted | None = None
    last: AnyEvent | None = None
    counts = dict.fromkeys(("started", "succeeded", "changed", "failed", "held_back"), 0)
    for last in events:
        if begun is None:
            if not isinstance(last, RunStarted):
                return None
            begun = last
        _count(counts, last, test=begun.test)
    if begun is None or last is None:
        return None
    entry = RunEntry(
        id=header.run,
        begun=begun.wall,
        ended=None if alive else begun.wall + last.time,
        ending=UNDER_WAY if alive else KILLED,
        host=header.host,
        test=begun.test,
        concurrency=begun.concurrency,
        digest=begun.digest,
        counts={"chunks": begun.chunks, **counts},
        plan=header.plan,
        resumes=header.resumes,
        boot=header.boot,
        uptime=header.uptime,
        about=header.about,
    )
    return _ended(entry, last) if isinstance(last, RunFinished) else entry


def damaged_line(log: BinaryIO, *, has_ended: bool) -> int:
    """Return the damaged line of a log without an entry; 0 if the log is only short, as of a run cut off early.

    In that case the header may be torn, with zeros for bytes that were never written.
    """
    log.seek(0)
    first = next(lines_in(log), b"")
    if read_header(first) is None:
        torn = first.strip(b"\0")
        return 1 if has_ended or torn.endswith(b"\n") or not torn.startswith(_HEADER[: len(torn)]) else 0
    log.seek(0)
    return next((number for number, line in enumerate(whole_lines(log), 1) if is_event(line)), 2 if has_ended else 0)


def missing_line(log: BinaryIO) -> int:
    """Return the line at which the log of an ended run breaks off; 0 if its end is there."""
    log.seek(0)
    number, last = 0, b""
    for number, last in enumerate(whole_lines(log), 1):  # noqa: B007 - the last one
        pass
    return 0 if last.startswith(_END) else number + 1


def _count(counts: dict[str, int], event: AnyEvent, *, test: bool) -> None:
    """Count an event of a run that may not come to its end."""
    if isinstance(event, ChunkStarted) and not event.check:
        counts["started"] += 1
    elif isinstance(event, ChunkFinished) and not event.check:
        if event.row["result"] is False:
            counts["held_back" if was_held_back(event.row) else "failed"] += 1
            return
        counts["succeeded"] += 1
        counts["changed"] += changes_something(event.row, test=test)


def _ended(entry: RunEntry, last: RunFinished) -> RunEntry:
    counts = {name: getattr(last, name) for name in ("succeeded", "changed", "held_back")}
    counts["failed"] = last.failed - last.held_back
    left = len(last.not_started)
    counts["chunks"] = max(entry.counts["chunks"], last.succeeded + last.failed + len(last.handled) + left)
    counts["started"] = counts["chunks"] - left
    ending = f"cancelled: {last.cancelled}" if last.cancelled else FAILHARD if left else FINISHED
    return msgspec.structs.replace(
        entry,
        ended=entry.begun + last.time,
        ending=ending,
        exit_code=last.exit_code,
        counts={**entry.counts, **counts, "not_started": left},
        foretold=last.foretold,
    )
