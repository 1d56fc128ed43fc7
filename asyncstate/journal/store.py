"""Journal: all runs as one, from the logs of runs that ended, that were killed, and that are under way."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import Counter
from contextlib import nullcontext, suppress
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, Final, Self

from asyncstate.errors import JournalError, PlanError
from asyncstate.journal.entry import (
    DAMAGED,
    KILLED,
    UNREADABLE,
    RunEntry,
    damaged_line,
    end_line,
    entry_of,
    event_of,
    events_of,
    in_order,
    lines_in,
    missing_line,
    read_end,
    read_header,
    whole_lines,
)
from asyncstate.journal.log import (
    ENDED,
    FOLDER,
    SUFFIX,
    logs_in,
    plan_path,
    remove_run,
    remove_unused_plans,
    require_folder,
    require_own,
)
from asyncstate.logs import get_logger
from asyncstate.nearest import nearest_id
from asyncstate.residue import is_locked, left_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from asyncstate.model.event import AnyEvent
    from asyncstate.plans.record import PlanRecord

log: Final = get_logger(__name__)

LATEST = "latest"
"""Names the last run, in place of an ID."""
_DAY = 86400.0
_AHEAD = 3600.0
"""Seconds from now after which no run can have begun: it began before the clock was set back, so it is an old one."""
MOST_BYTES = 1 << 30
"""The bytes of logs and plans to keep; the last run is kept at any size."""
_LARGEST_PLAN = 1 << 30
"""The maximum of bytes of a plan: one of a million states has a quarter of it."""


class Journal:
    """The journal in a state directory. Made with `open`."""

    def __init__(self, state_dir: str) -> None:
        self._state_dir = state_dir
        self._logs: dict[str, str] = {}
        self._listed: list[RunEntry] | None = None

    @classmethod
    def open(cls, state_dir: str) -> Self:
        """Open the journal to read it. One without runs is empty.

        Raises JournalError if it is no folder, PathRefused if root's journal could be another user's.
        """
        require_folder(state_dir)
        with suppress(FileNotFoundError):
            require_own(state_dir)
            require_own(os.path.join(state_dir, FOLDER))
        return cls(state_dir)

    def runs(self) -> list[RunEntry]:
        """Return all runs, newest first: those under way and those whose logs are damaged, too. Raises OSError."""
        if self._listed is None:
            found = {}
            # A run that ends meanwhile is found under its later name.
            for path in chain(logs_in(self._state_dir), logs_in(self._state_dir, ENDED)):
                entry = _entry_in(path)
                if entry is not None:
                    found[entry.id] = entry
                    self._logs[entry.id] = path
            self._listed = in_order(found.values())
        return list(self._listed)

    def look_again(self) -> None:
        """Read the list of runs anew on next use: runs may have ended."""
        self._listed = None

    def find(self, run: str | None = None, *, real: bool = False) -> RunEntry:
        """Return a run by its ID or a unique prefix of it. Raises JournalError, also if its log is damaged.

        None and `LATEST` are the last run; with ``real``, the last that was no dry run, as far as is known.
        """
        return self._whole(self._named(run, real=real))

    def _named(self, run: str | None, *, real: bool) -> RunEntry:
        entries = self.runs()
        if not entries:
            raise JournalError(f"the journal in {self._state_dir} has no runs")
        if run in (None, LATEST):
            latest = next((entry for entry in entries if not (real and entry.test)), None)
            if latest is None:
                raise JournalError(f"the journal in {self._state_dir} has dry runs only")
            return latest
        found = [entry for entry in entries if entry.id == run] or [e for e in entries if run and e.id.startswith(run)]
        if len(found) == 1:
            return found[0]
        if found:
            raise JournalError(f"several runs begin with {run!r}: {', '.join(entry.id for entry in found[:5])}")
        near = nearest_id(run, [entry.id for entry in entries])
        hint = f"Did you mean {near!r}?" if near else f"The last one is {entries[0].id}; asyncstate runs list has all."
        raise JournalError(f"the journal in {self._state_dir} has no run {run!r}. {hint}")

    def _whole(self, entry: RunEntry) -> RunEntry:
        path = f"Its log: {self._logs[entry.id]}"
        if entry.ending.startswith(UNREADABLE):
            why = entry.ending.removeprefix(UNREADABLE)
            raise JournalError(
                f"the journal of run {entry.id} cannot be read ({why}), so its results are unknown. Name another run "
                f"(asyncstate runs list), or make it readable. {path}"
            )
        if entry.ending.startswith(DAMAGED):
            line = entry.ending.removeprefix(DAMAGED)
            raise JournalError(
                f"the journal of run {entry.id} is damaged, line {line}, so its results are unknown. Name another run "
                f"(asyncstate runs list), or forget it with asyncstate runs prune. {path}"
            )
        return entry

    def lines(self, run_id: str) -> Iterator[bytes]:
        """Yield the lines of a run: events, and records of the journal itself. Raises JournalError."""
        for entry in self.runs():
            if entry.id == run_id:
                self._whole(entry)
        path = self._logs.get(run_id)
        if path is None:
            return
        try:
            file = _opened(path)
        except FileNotFoundError:  # it has ended since, or was removed
            try:
                file = _opened(os.path.splitext(path)[0] + ENDED)
            except FileNotFoundError:
                raise JournalError(f"the journal in {self._state_dir} has no run {run_id} any longer") from None
        with file:
            ended = file.name.endswith(ENDED)
            yield from (line.rstrip(b"\n") for line in lines_in(file)) if ended else whole_lines(file)

    def events(self, run_id: str) -> Iterator[AnyEvent]:
        """Yield the events of a run in order, also of one under way.

        Raises JournalError, which names the run and the line, at a damaged one.
        """
        for number, line in enumerate(self.lines(run_id), 1):
            try:
                event = event_of(line)
            except JournalError as error:
                raise JournalError(f"the journal of run {run_id} is damaged, line {number}: {error}") from None
            if event is not None:
                yield event

    def plan(self, run_id: str) -> PlanRecord:
        """Return the plan's record of a run. Raises JournalError if it was not kept, or is damaged."""
        from asyncstate.plans.record import decode  # noqa: PLC0415 - few readers want it

        try:
            return decode(self.plan_bytes(run_id), f"the plan of run {run_id}", "The run can only be applied anew")
        except PlanError as error:
            raise JournalError(f"the journal in {self._state_dir} is damaged: {error}") from None

    def plan_bytes(self, run_id: str) -> bytes:
        """Return the plan's record of a run, as JSON. Raises JournalError if it was not kept."""
        entry = self.find(run_id)
        try:
            with _opened(plan_path(self._logs[entry.id])) as file:
                if os.fstat(file.fileno()).st_size <= _LARGEST_PLAN:
                    return file.read()
        except OSError:
            raise JournalError(f"the journal has no plan of run {entry.id}") from None
        raise JournalError(f"the plan of run {entry.id} cannot be read: it has more than {_LARGEST_PLAN >> 20} MiB")

    def prune(self, keep_runs: int, keep_days: float, *, dry_run: bool = False) -> list[RunEntry]:
        """Do what `tidy` does, and remove the runs whose logs are damaged, too; return the removed runs, newest first.

        With ``dry_run``, only return them.
        """
        self._listed = None
        before = self.runs()
        damaged = {self._logs[entry.id] for entry in before if entry.ending.startswith(DAMAGED)}
        if dry_run:
            gone = {*damaged, *_old_runs(self._state_dir, keep_runs, keep_days, but=damaged)}
            return [entry for entry in before if self._logs[entry.id] in gone]
        require_own(self._state_dir)
        for path in damaged:
            with suppress(FileNotFoundError):  # another process does the same
                remove_run(path)
        tidy(self._state_dir, keep_runs, keep_days)
        self._listed = None
        kept = {entry.id for entry in self.runs()}
        return [entry for entry in before if entry.id not in kept]


def _opened(path: str) -> BinaryIO:
    """Open a file of the journal. Raises OSError, also for a device, which might never end."""
    return open(path, "rb", opener=_open_regular)


def _open_regular(path: str, flags: int) -> int:
    file = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    raise OSError(errno.EINVAL, "it is not a regular file", path)


def _entry_in(path: str) -> RunEntry | None:
    """Return the entry of the run with this log; None if it did not begin, or is gone."""
    has_ended = path.endswith(ENDED)
    run = os.path.splitext(os.path.basename(path))[0]
    try:
        with _opened(path) as file:
            entry = (read_end(file) if has_ended else None) or _entry_of_lines(file, whole_lines(file))
            breaks_off = has_ended and entry is not None and entry.ending == KILLED
            if not breaks_off and (entry is not None or is_locked(file.fileno())):
                return entry
            line = missing_line(file) if breaks_off else damaged_line(file, has_ended=has_ended)
            return (
                RunEntry(id=run, begun=os.fstat(file.fileno()).st_mtime, ending=f"{DAMAGED}{line}") if line else entry
            )
    except FileNotFoundError:
        return None
    except OSError as error:
        why = error.strerror or str(error)
        with suppress(OSError):
            about = os.lstat(path)
            if stat.S_ISREG(about.st_mode):
                return RunEntry(id=run, begun=about.st_mtime, ending=f"{UNREADABLE}{why}")
        log.warning("%s, the log of a run, cannot be read: %s", path, why)
        return None


def _entry_of_lines(file: BinaryIO, lines: Iterator[bytes], *, alive: bool | None = None) -> RunEntry | None:
    alive = is_locked(file.fileno()) if alive is None else alive
    header = read_header(next(lines, b""))
    return None if header is None else entry_of(header, events_of(lines), alive=alive)


def end_run(file: int, path: str, entry: RunEntry) -> None:
    """Rename the log of an ended run, whose last line is its ``entry``, to its final name. Raises OSError."""
    begun = min(max(entry.begun, 0.0), 1e10)
    os.utime(file, (begun, begun))
    os.rename(path, os.path.splitext(path)[0] + ENDED)


def _end_dead_run(path: str) -> None:
    """Write the entry of a killed run into its log. If that fails, the log stays, with a warning."""
    with left_file(path, os.O_RDWR) as file:
        if file is None:
            return
        try:
            with open(file, "r+b", closefd=False) as log_:
                size = sum(len(line) + 1 for line in whole_lines(log_))
                log_.seek(0)
                entry = _entry_of_lines(log_, whole_lines(log_), alive=False)
                if entry is None:
                    if not damaged_line(log_, has_ended=False):
                        remove_run(path)
                    return
                log_.seek(size)
                log_.write(end_line(entry))
                log_.truncate()
                log_.flush()
                os.fdatasync(file)
            end_run(file, path, entry)
        except OSError as error:
            log.warning("the log of a run stays as it is: %s", error)


def tidy(state_dir: str, keep_runs: int, keep_days: float) -> None:
    """End the logs of killed runs, and remove old runs.

    Old runs are those not among the last ``keep_runs``, older than ``keep_days``, or beyond `MOST_BYTES`. The last run
    and runs under way stay. Raises OSError, PathRefused.
    """
    require_own(state_dir)
    for path in logs_in(state_dir):
        _end_dead_run(path)
    gone = 0
    for path in _old_runs(state_dir, keep_runs, keep_days):
        with suppress(FileNotFoundError):  # another process does the same
            remove_run(path)
            gone += 1
    if gone:
        remove_unused_plans(state_dir)


def _old_runs(state_dir: str, keep_runs: int, keep_days: float, but: Collection[str] = ()) -> Iterator[str]:
    """Yield the paths of the logs of old runs, newest first, ``but`` these. A killed run is locked meanwhile."""
    now = time.time()
    oldest = now - keep_days * _DAY
    size = kept = 0
    for begun, own, path in sorted(_logs_by_age(state_dir), key=lambda log: log[0] > now + _AHEAD):
        with nullcontext(-1) if path.endswith(ENDED) else left_file(path) as dead:
            if dead is None or path in but:
                continue
            size += own
            if kept and (kept >= keep_runs or begun < oldest or size > MOST_BYTES):
                yield path
            else:
                kept += 1


def _logs_by_age(state_dir: str) -> list[tuple[float, int, str]]:
    """Return the start of each run, the bytes of its log and its share of its plan, and the path of its log."""
    sizes: Counter[str] = Counter()
    found: list[tuple[float, str, str]] = []
    with suppress(FileNotFoundError), os.scandir(os.path.join(state_dir, FOLDER)) as files:
        for file in files:
            with suppress(FileNotFoundError):
                about = file.stat(follow_symlinks=False)
                stem, suffix = os.path.splitext(file.path)
                sizes[stem] += about.st_size // max(1, about.st_nlink - 1)
                if suffix in {SUFFIX, ENDED} and file.is_file(follow_symlinks=False):
                    found.append((about.st_mtime, file.path, stem))
    return [(begun, sizes[stem], path) for begun, path, stem in sorted(found, reverse=True)]
