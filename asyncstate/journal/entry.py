"""What the journal says of a run as a whole, and how that is found in its lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import msgspec

from asyncstate.errors import JournalError
from asyncstate.journal.lines import SHORT, read_line
from asyncstate.model.encode import encoded
from asyncstate.model.event import (
    AnyEvent,
    ChunkFinished,
    ChunkStarted,
    RunFinished,
    RunStarted,
    StateEvent,
    decode_event,
)
from asyncstate.model.result import changes_something, was_held_back, wrong_in_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from mmap import mmap

    from asyncstate.model.result import Row

FINISHED = "finished"
FAILHARD = "failhard"
KILLED = "killed"
"""Its process died, or its machine did."""
UNDER_WAY = "under way"
_EVENT = (b'{"event":', SHORT)
"""How the line of an event begins; other lines are records of the journal itself."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a log. ``plan`` is the key of the plan's record, ``resumes`` the run that this one continues.

    ``about`` is what the program that runs it says of it.
    """

    journal: int = 1
    run: str
    host: str = ""
    pid: int = 0
    plan: str = ""
    resumes: str = ""
    about: dict[str, Any] = {}


def around_plan(key: str) -> tuple[bytes, bytes]:
    """Return what stands in the line of a log before and after the record of its plan, which many runs may share."""
    return _PLAN + encoded(key) + _PLAN_ITSELF, b"}\n"


def plan_within(log_: bytes | mmap, begin: int, end: int) -> tuple[int, int] | None:
    """Return where the record of a plan begins and ends in the line from ``begin`` to ``end``; None if it has none."""
    at = log_.find(_PLAN_ITSELF, begin, begin + _MOST_BEFORE)
    if at < 0 or log_[begin : begin + len(_PLAN)] != _PLAN or log_[end - 2 : end] != b"}\n":
        return None
    return at + len(_PLAN_ITSELF), end - 2


_PLAN, _PLAN_ITSELF = b'{"record":"plan","key":', b',"plan":'
_MOST_BEFORE = 1000


class RunEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One run. ``begun`` and ``ended`` are in seconds since the epoch; of a killed run, that of its last event.

    ``ending`` is ``finished``, ``failhard``, ``cancelled: REASON``, ``killed`` or ``under way``; ``exit_code`` is None
    for the last two. ``counts`` are numbers of states: ``chunks`` of the plan, ``started``, ``succeeded``, ``changed``
    (of a dry run, those that would be), ``failed`` of themselves, ``held_back``, ``not_started``. ``digest`` is that of
    the plan, ``plan`` the key of its record, ``resumes`` the run that this one continues, ``about`` what the program
    that ran it said of it.
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
    plan: str = ""
    resumes: str = ""
    about: dict[str, Any] = {}


def read_header(line: bytes) -> Header | None:
    """Return the header that a log begins with; None if the line is none."""
    try:
        return msgspec.json.decode(line, type=Header)
    except (msgspec.MsgspecError, UnicodeError):
        return None


def whole_lines(data: bytes) -> list[bytes]:
    """Return the lines of a log without its end, which may be torn: up to the first line that is no JSON."""
    lines = data.split(b"\n")[:-1]
    for number, line in enumerate(lines):
        if not line.startswith((b"{", SHORT)) or not line.endswith((b"}", b"]")):
            return lines[:number]
    return lines


def whole(data: bytes) -> bytes:
    """Return a log without its end, which may be torn."""
    return b"".join(line + b"\n" for line in whole_lines(data))


def telling_lines(log_: bytes | mmap, begin: int = 0) -> list[bytes]:
    """Return the lines from ``begin`` on that tell of a run as a whole.

    That is all, or of a run that ended the first event and the last.
    """
    end = len(log_) - 1
    last = log_[log_.rfind(b"\n", begin, end) + 1 : end]
    at = log_.find(_BEGUN, begin)
    if at < 0 or not last.startswith(_ENDED):
        return log_[begin:].split(b"\n")[:-1]
    return [log_[at : log_.find(b"\n", at)], last]


_BEGUN, _ENDED = b'{"event":"run_started"', b'{"event":"run_finished"'


def read_event(line: bytes) -> AnyEvent | None:
    """Return the event of a line; None if it is damaged, or none that this version knows."""
    try:
        return event_of(line)
    except JournalError:
        return None


def event_of(line: bytes) -> AnyEvent | None:
    """Return the event of a line; None if it has none that this version knows.

    Raises JournalError, which says what is wrong with the line, if it is damaged. Every row of the event has what a
    report needs.
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


_RECORDS = (b'{"journal":', b'{"record":')
_KNOWN = frozenset(str(each.__struct_config__.tag) for each in get_args(AnyEvent))


def _mended(line: bytes, wrong: Exception) -> AnyEvent | None:
    """Read an event with a name that is no text, as ``names`` may list; None for one that this version does not know.

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
    """Whether a line is that of an event."""
    return line.startswith(_EVENT)


def _wrong_row(event: AnyEvent) -> str:
    """Return what is wrong with the rows of an event, "" if nothing is."""
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
    """Yield the events among lines; those that are damaged are left out."""
    for line in lines:
        if is_event(line) and (event := read_event(line)) is not None:
            yield event


def entry_of(header: Header, lines: Sequence[bytes], *, alive: bool) -> RunEntry | None:
    """Return what the lines of a run say of it; None if it did not begin. ``alive``: its process still writes."""
    begun = next(events_of(lines), None)
    last = next(events_of(reversed(lines)), None)
    if not isinstance(begun, RunStarted) or last is None:
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
        counts={"chunks": begun.chunks},
        plan=header.plan,
        resumes=header.resumes,
        about=header.about,
    )
    return _ended(entry, last) if isinstance(last, RunFinished) else _cut_off(entry, lines)


def _cut_off(entry: RunEntry, lines: Sequence[bytes]) -> RunEntry:
    """Count what a run did that has not come to its end."""
    counts = dict.fromkeys(("started", "succeeded", "changed", "failed", "held_back"), 0)
    for event in events_of(lines):
        if isinstance(event, ChunkStarted) and not event.check:
            counts["started"] += 1
        elif isinstance(event, ChunkFinished) and not event.check:
            if event.row["result"] is False:
                counts["held_back" if was_held_back(event.row) else "failed"] += 1
                continue
            counts["succeeded"] += 1
            counts["changed"] += changes_something(event.row, test=entry.test)
    return msgspec.structs.replace(entry, counts={**entry.counts, **counts})


def _ended(entry: RunEntry, last: RunFinished) -> RunEntry:
    counts = {name: getattr(last, name) for name in ("succeeded", "changed", "held_back")}
    counts["failed"] = last.failed - last.held_back
    left = len(last.not_started)
    counts["started"] = entry.counts["chunks"] - left
    ending = f"cancelled: {last.cancelled}" if last.cancelled else FAILHARD if left else FINISHED
    return msgspec.structs.replace(
        entry,
        ended=entry.begun + last.time,
        ending=ending,
        exit_code=last.exit_code,
        counts={**entry.counts, **counts, "not_started": left},
    )
