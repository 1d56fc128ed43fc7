"""The journal as one: runs that ended, from its database, and runs under way or killed, from their logs."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from asyncstate.errors import JournalError, PlanError
from asyncstate.journal.entry import entry_of, event_of, plan_within, read_header, telling_lines, whole, whole_lines
from asyncstate.journal.folder import DATABASE, logs_in, require_own
from asyncstate.journal.log import dead_log, read_log
from asyncstate.journal.mapped import end_of_line
from asyncstate.logs.loggers import get_logger
from asyncstate.nearest import nearest_id

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterator
    from mmap import mmap

    from asyncstate.journal.database import Database
    from asyncstate.journal.entry import RunEntry
    from asyncstate.model.event import AnyEvent
    from asyncstate.plans.record import PlanRecord

log: logging.Logger = get_logger(__name__)

LATEST = "latest"
"""In place of the ID of a run: the last one."""
_LATEST = (None, LATEST, "last")
"""All that names it; ``last`` is what it was called in earlier versions."""
_DAY = 86400.0


class Journal:
    """The journal in a state directory. Made with `open`."""

    def __init__(self, state_dir: str, database: Database | None) -> None:
        self._state_dir = state_dir
        self._database = database
        self._logs: dict[str, list[bytes]] = {}
        self._listed: list[RunEntry] | None = None

    @classmethod
    def open(cls, state_dir: str, *, write: bool) -> Self:
        """Open the journal; with ``write``, move the logs of dead runs into its database first.

        A journal without runs is empty. Raises JournalError; PathRefused if root's journal could be another user's;
        OSError if it cannot be written.
        """
        from asyncstate.journal.database import Database, writable  # noqa: PLC0415 - sqlite3, which few need

        path = os.path.join(state_dir, DATABASE)
        try:
            require_own(state_dir)
        except FileNotFoundError:
            return cls(state_dir, None)
        if not write:
            try:
                return cls(state_dir, Database(path, write=False))
            except FileNotFoundError:
                return cls(state_dir, None)
        if not logs_in(state_dir) and not os.path.exists(path):
            return cls(state_dir, None)
        opened = cls(state_dir, writable(path))
        opened.take_over()
        return opened

    def take_over(self) -> None:
        """Move the logs of dead runs into the database. One that cannot be moved stays, with a warning."""
        for path in logs_in(self._state_dir):
            with dead_log(path) as data:
                if data is not None:
                    self._take(path, data)

    def _take(self, path: str, data: bytes) -> None:
        try:
            self.add(whole(data))
            os.unlink(path)
        except (OSError, JournalError) as error:
            log.warning("the log of a run stays where it is: %s", error)

    def add(self, log_: bytes | mmap) -> None:
        """Add the run that the whole lines of a log tell of, if it began. Raises JournalError."""
        begin = end_of_line(log_, 0)
        header = read_header(log_[:begin])
        if header is None or self._database is None:
            return
        second = end_of_line(log_, begin)
        plan = plan_within(log_, begin, second)
        if plan is not None:
            begin = second
        entry = entry_of(header, telling_lines(log_, begin), alive=False)
        if entry is not None:
            self._database.add(entry, log_, begin, plan)
        self._listed = None

    # reading

    def runs(self) -> list[RunEntry]:
        """Return all runs, newest first: those under way, too."""
        if self._listed is None:
            found = {entry.id: entry for entry in (self._database.runs() if self._database is not None else ())}
            for path in logs_in(self._state_dir):
                entry = self._entry_in(path)
                if entry is not None:
                    found[entry.id] = entry
            self._listed = sorted(found.values(), key=lambda entry: (-entry.begun, entry.id))
        return list(self._listed)

    def _entry_in(self, path: str) -> RunEntry | None:
        read = read_log(path)
        if read is None:
            return None
        lines = whole_lines(read[0])
        header = read_header(lines[0]) if lines else None
        if header is None:
            return None
        self._logs[header.run] = lines
        return entry_of(header, lines, alive=read[1])

    def look_again(self) -> None:
        """Forget which runs were under way."""
        self._listed = None

    def find(self, run: str | None = None, *, real: bool = False) -> RunEntry:
        """Return a run by its ID or a unique beginning of it. Raises JournalError.

        None and `LATEST` are the last one, with ``real`` the last that was no dry run.
        """
        entries = self.runs()
        if not entries:
            raise JournalError(f"the journal in {self._state_dir} has no runs")
        if run in _LATEST:
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

    def lines(self, run_id: str) -> Iterator[bytes]:
        """Yield the lines of a run: events, and records of the journal itself."""
        if run_id in self._logs:
            yield from self._logs[run_id]
        elif self._database is not None:
            yield from self._database.lines(run_id)

    def events(self, run_id: str) -> Iterator[AnyEvent]:
        """Yield the events of a run in order, also of one under way.

        Raises JournalError, which names the run and the line, where one is damaged.
        """
        self.runs()
        for number, line in enumerate(self.lines(run_id), 1):
            try:
                event = event_of(line)
            except JournalError as error:
                raise JournalError(f"the journal of run {run_id} is damaged, line {number}: {error}") from None
            if event is not None:
                yield event

    def plan(self, run_id: str) -> PlanRecord:
        """Return the record of the plan of a run. Raises JournalError if it was not kept, or is damaged."""
        from asyncstate.plans.document import decode  # noqa: PLC0415 - few readers want it

        try:
            return decode(self.plan_bytes(run_id), f"the plan of run {run_id}", "The run can only be applied anew")
        except PlanError as error:
            raise JournalError(f"the journal in {self._state_dir} is damaged: {error}") from None

    def plan_bytes(self, run_id: str) -> bytes:
        """Return the record of the plan of a run, as JSON. Raises JournalError if it was not kept."""
        entry = self.find(run_id)
        found = _own_plan(self._logs.get(entry.id, []))
        if found is None and self._database is not None:
            found = self._database.plan(entry.plan)
        if found is None:
            raise JournalError(f"the journal has no plan of run {entry.id}")
        return found

    # keeping within bounds

    def prune(self, keep_runs: int, keep_days: float) -> int:
        """Forget runs that are not among the last ``keep_runs`` or older than ``keep_days``; return how many.

        The last run stays, and what is under way.
        """
        self._listed = None
        if self._database is None:
            return 0
        return self._database.prune(keep_runs, time.time() - keep_days * _DAY)

    def close(self) -> None:
        """Close the database."""
        if self._database is not None:
            self._database.__exit__(None, None, None)
            self._database = None


def _own_plan(lines: list[bytes]) -> bytes | None:
    for line in lines[1:2]:
        whole_line = line + b"\n"
        place = plan_within(whole_line, 0, len(whole_line))
        if place is not None:
            return whole_line[slice(*place)]
    return None


def archive(state_dir: str, log_: bytes | mmap, *, keep_runs: int, keep_days: float) -> None:
    """Add a run to the database, and logs of dead runs; forget old runs.

    Raises JournalError or OSError if the database cannot be written. Then old logs of dead runs are forgotten.
    """
    from asyncstate.journal.database import writable  # noqa: PLC0415 - sqlite3, imported off the loop

    journal = None
    try:
        journal = Journal(state_dir, writable(os.path.join(state_dir, DATABASE)))
        journal.add(log_)
        if len(logs_in(state_dir)) > 1:
            journal.take_over()
        journal.prune(keep_runs, keep_days)
    except (OSError, JournalError):
        _forget_logs(state_dir, keep_runs, time.time() - keep_days * _DAY)
        raise
    finally:
        if journal is not None:
            journal.close()


def _forget_logs(state_dir: str, keep_runs: int, oldest: float) -> None:
    """Remove the logs of dead runs that are not among the last ``keep_runs``, or were not written since ``oldest``."""
    written: list[tuple[float, str]] = []
    for path in logs_in(state_dir):
        with suppress(OSError):
            written.append((os.stat(path, follow_symlinks=False).st_mtime, path))
    for place, (when, path) in enumerate(sorted(written, reverse=True)):
        if place and (place >= keep_runs or when < oldest):
            with dead_log(path) as data:
                if data is not None:
                    with suppress(OSError):
                        os.unlink(path)


def knows_plan(state_dir: str, key: str) -> bool:
    """Whether the database has the record of a plan."""
    from asyncstate.journal.database import Database  # noqa: PLC0415 - as above

    try:
        with Database(os.path.join(state_dir, DATABASE), write=False) as database:
            return database.knows_plan(key)
    except (FileNotFoundError, JournalError):
        return False
