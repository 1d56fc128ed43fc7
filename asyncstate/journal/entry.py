"""What the journal says of a run as a whole, and how that is found in its lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.journal.lines import SHORT, read_line
from asyncstate.model.event import AnyEvent, ChunkFinished, ChunkStarted, RunFinished, RunStarted, decode_event

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from mmap import mmap

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
    return _PLAN + msgspec.json.encode(key) + _PLAN_ITSELF, b"}\n"


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
    for the last two. ``counts`` are numbers of states: ``chunks`` of the plan, ``started``, ``succeeded``, ``changed``,
    ``failed``, ``not_started``. ``digest`` is that of the plan, ``plan`` the key of its record, ``resumes`` the run
    that this one continues, ``about`` what the program that ran it said of it.
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
    """Return the event of a line; None if it has none that this version knows."""
    try:
        return read_line(line) if line.startswith(SHORT) else decode_event(line)
    except (msgspec.MsgspecError, UnicodeError):
        return _mended(line)


def _mended(line: bytes) -> AnyEvent | None:
    """Read an event with a name that is no text, as ``names`` may list."""
    try:
        said = msgspec.json.decode(line)
        texts = {key: str(said[key]) for key in ("id", "name", "sls") if key in said}
        mended: AnyEvent = msgspec.convert({**said, **texts}, AnyEvent)
    except (msgspec.MsgspecError, UnicodeError, TypeError):
        return None
    return mended


def is_event(line: bytes) -> bool:
    """Whether a line is that of an event."""
    return line.startswith(_EVENT)


def events_of(lines: Iterable[bytes]) -> Iterator[AnyEvent]:
    """Yield the events among lines."""
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
    counts = dict.fromkeys(("started", "succeeded", "changed", "failed"), 0)
    for event in events_of(lines):
        if isinstance(event, ChunkStarted) and not event.check:
            counts["started"] += 1
        elif isinstance(event, ChunkFinished) and not event.check:
            result = event.row.get("result")
            counts["failed" if result is False else "succeeded"] += 1
            counts["changed"] += bool(event.row.get("changes"))
    return msgspec.structs.replace(entry, counts={**entry.counts, **counts})


def _ended(entry: RunEntry, last: RunFinished) -> RunEntry:
    counts = {name: getattr(last, name) for name in ("succeeded", "changed", "failed")}
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
