"""The database of the journal: the runs that have ended, SQLite with a write-ahead log."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import msgspec

from asyncstate.errors import JournalError
from asyncstate.journal.entry import RunEntry
from asyncstate.journal.mapped import PIECE, let_go, pieces
from asyncstate.logs.loggers import get_logger
from asyncstate.model.encode import encoded

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterator
    from mmap import mmap
    from types import TracebackType

log: logging.Logger = get_logger(__name__)

_VERSION = 1
_CACHE = 256
"""KiB of pages that are held: a run writes each of them once."""
_PATIENCE = 10.0
"""Seconds to wait for another process that writes."""
MOST_BYTES = 1 << 30
"""Bytes of events and plans that are kept; of the last run, all."""
_TABLES = """
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS runs (id TEXT PRIMARY KEY, begun REAL NOT NULL, plan TEXT NOT NULL, bytes INTEGER NOT NULL,
    entry BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS plans (key TEXT PRIMARY KEY, plan BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS events (run TEXT NOT NULL, first INTEGER NOT NULL, lines BLOB NOT NULL,
    PRIMARY KEY (run, first));
PRAGMA user_version = 1;
COMMIT;
"""


_SIZES = """
SELECT id, begun, bytes, runs.plan, coalesce(length(plans.plan), 0)
FROM runs LEFT JOIN plans ON plans.key = runs.plan ORDER BY begun DESC
"""


class Database:
    """The database at ``path``; a context manager. With ``write`` it is made if there is none.

    Raises JournalError if it is broken, of a later version, or cannot be opened; FileNotFoundError without ``write``.
    """

    def __init__(self, path: str, *, write: bool) -> None:
        self._path = path
        try:
            self._connection = self._opened(write=write)
        except sqlite3.Error as error:
            raise self._error(error) from None

    def _opened(self, *, write: bool) -> sqlite3.Connection:
        if write:
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        elif not os.path.exists(self._path):
            raise FileNotFoundError(self._path)
        if not os.path.isfile(self._path):
            raise JournalError(f"{self._path}: it is not a regular file")
        found = self._connected("rw" if write else "ro")
        try:
            self._require_known(found, write=write)
            if write:
                found.executescript(_TABLES)
                found.execute("PRAGMA synchronous = FULL")
                found.execute(f"PRAGMA cache_size = -{_CACHE}")
        except BaseException:
            found.close()
            raise
        return found

    def _connected(self, mode: str) -> sqlite3.Connection:
        from urllib.parse import quote  # noqa: PLC0415 - only those who open a database

        uri = f"file:{quote(os.path.abspath(self._path))}?mode={mode}"
        found = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        if mode == "ro":
            try:
                found.execute("PRAGMA schema_version").fetchone()
            except sqlite3.OperationalError:  # a folder in which its index of the log cannot be made
                found.close()
                return sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None, check_same_thread=False)
        return found

    def _require_known(self, found: sqlite3.Connection, *, write: bool) -> None:
        (version,) = found.execute("PRAGMA user_version").fetchone()
        if not version and not write:  # it was begun on a full disk, and has no tables
            raise FileNotFoundError(self._path)
        if version > _VERSION:
            raise JournalError(f"{self._path} is of a later version of asyncstate. Use that, or move the file away.")

    def _error(self, error: sqlite3.Error) -> JournalError:
        return JournalError(f"{self._path}: {error}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def add(self, entry: RunEntry, log_: bytes | mmap, begin: int, plan: tuple[int, int] | None) -> None:
        """Add a run with the whole lines of its log from ``begin`` on, and the part of it that records its plan.

        It is on the disk when this returns.
        """
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._insert(entry, log_, begin, plan)
            except BaseException:
                if self._connection.in_transaction:  # where the disk is full, SQLite has rolled back
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._error(error) from None

    def _insert(self, entry: RunEntry, log_: bytes | mmap, begin: int, plan: tuple[int, int] | None) -> None:
        run = self._connection.execute
        if plan is not None:
            self._insert_plan(entry.plan, log_, *plan)
        run("DELETE FROM events WHERE run = ?", (entry.id,))
        for first, blob in _blobs(log_, begin):
            run("INSERT INTO events VALUES (?, ?, ?)", (entry.id, first, blob))
        about = (entry.id, entry.begun, entry.plan, len(log_) - begin, encoded(entry))
        run("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?)", about)

    def _insert_plan(self, key: str, log_: bytes | mmap, begin: int, end: int) -> None:
        """Insert a record piece by piece: SQLite would hold a copy of the whole."""
        done = self._connection.execute("INSERT OR IGNORE INTO plans VALUES (?, zeroblob(?))", (key, end - begin))
        if not done.rowcount:
            return
        with self._connection.blobopen("plans", "plan", done.lastrowid or 0) as blob:
            for first, last in pieces(log_, begin, end):
                blob.write(log_[first:last])

    def runs(self) -> list[RunEntry]:
        """Return all runs, newest first."""
        try:
            return [
                msgspec.json.decode(entry, type=RunEntry) for (entry,) in self._rows("SELECT entry FROM runs", bytes)
            ]
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise self._damaged(error) from None

    def lines(self, run: str) -> Iterator[bytes]:
        """Yield the lines of a run."""
        for (blob,) in self._rows("SELECT lines FROM events WHERE run = ? ORDER BY first", bytes, given=run):
            yield from blob.split(b"\n")[:-1]

    def plan(self, key: str) -> bytes | None:
        """Return the record of a plan."""
        return next((plan for (plan,) in self._rows("SELECT plan FROM plans WHERE key = ?", bytes, given=key)), None)

    def knows_plan(self, key: str) -> bool:
        """Whether there is a record of a plan."""
        return any(
            True for _ in self._rows("SELECT 1 FROM plans WHERE key = ? AND typeof(plan) = 'blob'", int, given=key)
        )

    def prune(self, keep_runs: int, oldest: float) -> int:
        """Remove runs that are not among the last ``keep_runs``, or begun before ``oldest``; return how many."""
        rows = self._rows(_SIZES, str, float, int, str, int)
        gone: list[str] = []
        plans: set[str] = set()
        size = 0
        for place, (run, begun, own, plan, of_plan) in enumerate(rows):
            size += own if plan in plans else own + of_plan
            plans.add(plan)
            if place and (place >= keep_runs or begun < oldest or size > MOST_BYTES):
                gone.append(run)
        if gone:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                for run in gone:
                    self._connection.execute("DELETE FROM events WHERE run = ?", (run,))
                    self._connection.execute("DELETE FROM runs WHERE id = ?", (run,))
                self._connection.execute("DELETE FROM plans WHERE key NOT IN (SELECT plan FROM runs)")
                self._connection.execute("COMMIT")
                self._connection.execute("PRAGMA incremental_vacuum").fetchall()
            except sqlite3.Error as error:
                raise self._error(error) from None
        return len(gone)

    def _rows(self, query: str, *types: type, given: str | None = None) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of an answer, whose columns have these types. SQLite itself takes any."""
        try:
            for row in self._connection.execute(query, () if given is None else (given,)):
                if not all(map(isinstance, row, types)):
                    raise self._damaged("a value has another type than its column")
                yield row
        except sqlite3.Error as error:
            raise self._error(error) from None

    def _damaged(self, reason: object) -> JournalError:
        return JournalError(
            f"{self._path} is damaged: {reason}. Move it away to begin a new journal; past runs cannot be read then"
        )


def _blobs(log_: bytes | mmap, begin: int) -> Iterator[tuple[int, bytes]]:
    """Yield pieces of about `PIECE` bytes that end with a line, each with the place at which it begins.

    They are copies: as long as a view of a map is alive, the map cannot be closed.
    """
    size = len(log_)
    first = begin
    while first < size:
        end = log_.find(b"\n", min(first + PIECE, size) - 1) + 1 or size
        yield first - begin, log_[first:end]
        let_go(log_, first, end)
        first = end


def writable(path: str) -> Database:
    """Open the database to write. One that is broken is moved aside, with a warning, and a new one begun."""
    try:
        return Database(path, write=True)
    except JournalError as error:
        if "malformed" not in str(error) and "not a database" not in str(error):
            raise
        aside = f"{path}.broken-{time.strftime('%Y%m%d-%H%M%S')}"
        log.warning("%s. It is kept as %s, and a new journal is begun", error, aside)
        os.replace(path, aside)
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(path + suffix)
        return Database(path, write=True)
