"""Keeps one run in the journal: its events as they happen, and the run in the database at its end."""

from __future__ import annotations

from mmap import ACCESS_READ, mmap
from typing import TYPE_CHECKING, Any

from asyncstate.errors import AsyncStateError, JournalError
from asyncstate.journal.entry import Header, around_plan
from asyncstate.journal.folder import log_path, make_folder
from asyncstate.journal.log import RunLog
from asyncstate.journal.store import archive
from asyncstate.logs.loggers import get_logger
from asyncstate.model.encode import encoded
from asyncstate.model.event import encode_event

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterable

    from asyncstate.config.settings import Settings
    from asyncstate.model.event import Event

log: logging.Logger = get_logger(__name__)


class Keeper:
    """Keeps one run. Its first observer, so that a result is in the journal before it is shown or releases anything.

    ``header`` is the first line of its log. Raises OSError or PathRefused if there can be no log. Later it never
    raises: ``trouble`` is called, once, with why the log cannot be written, and `notices` tell of it in the end.
    """

    def __init__(self, settings: Settings, header: Header, plan: tuple[str, Iterable[bytes]] | None = None) -> None:
        self.run_id: str = header.run
        self.trouble: Callable[[str], None] | None = None
        self._settings = settings
        self._told = ""
        make_folder(settings.state_dir)
        self._is_closed = False
        self._log = RunLog(log_path(settings.state_dir, header.run), self._tell, sync=settings.journal_sync == "full")
        self.write: Callable[[bytes | memoryview], None] = self._log.write
        """Write whole lines. Once this returns, they are safe against the death of this process."""
        try:
            self._begin(header, plan)
        except BaseException:
            self._log.close(remove=True)
            raise

    def _begin(self, header: Header, plan: tuple[str, Iterable[bytes]] | None) -> None:
        self.write(encoded(header) + b"\n")
        if plan is not None:
            self._write_plan(*plan)
        if self._told:  # the disk is full, or has less room than the plan needs
            raise self._log.error or OSError(self._told)

    def _write_plan(self, key: str, pieces: Iterable[bytes]) -> None:
        before, after = around_plan(key)
        self.write(before)
        for piece in pieces:
            self.write(piece)
        self.write(after)

    def on_event(self, event: Event) -> None:
        """Write an event."""
        try:
            line = encoded(event)
        except (TypeError, ValueError, OverflowError, RecursionError):
            line = encode_event(event)
        self.write(line + b"\n")

    def record(self, *lines: Any) -> None:
        """Write records of the journal itself, which are no events."""
        self.write(b"".join(encoded(line) + b"\n" for line in lines))

    def _tell(self, error: OSError) -> None:
        if not self._told:
            self._told = error.strerror or str(error)
            if self.trouble is not None:
                self.trouble(self._told)

    @property
    def notices(self) -> list[str]:
        """What the report says of the journal: that it could not be written, if so."""
        if not self._told:
            return []
        has_gap = self._log.has_gap or self._log.error is not None
        now = "has a gap" if has_gap else "is written again, and nothing is missing"
        return [f"The journal in {self._settings.state_dir} could not be written ({self._told}): it {now}"]

    def close(self) -> None:
        """Put the run into the database, and remove its log. Blocks. If that fails, a later run does it."""
        if self._is_closed:
            return
        self._is_closed = True
        log_, moved = self._log, False
        try:
            if log_.finish():
                with open(log_.path, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as whole:
                    self._archive(whole)
                moved = True
            elif not self._told:
                log.warning("the journal keeps this run as %s: %s", log_.path, log_.error)
        except Exception as error:  # noqa: BLE001 - the run is over: whatever goes wrong here must not cost its report
            log.warning("the journal keeps this run as %s: %s", log_.path, error or type(error).__name__)
        try:
            log_.close(remove=moved)
        except (OSError, MemoryError) as error:
            log.warning("the journal cannot close %s: %s", log_.path, error or type(error).__name__)

    def _archive(self, log_: mmap) -> None:
        settings = self._settings
        archive(
            settings.state_dir,
            log_,
            keep_runs=settings.journal_keep_runs,
            keep_days=settings.journal_keep_days,
        )


def keeper_of(
    settings: Settings, made: Callable[[], tuple[Header, tuple[str, Iterable[bytes]] | None]]
) -> tuple[Keeper | None, list[str]]:
    """Return what keeps a run, None if nothing can, and notices for its report. ``made`` gives its header and plan.

    Raises JournalError if the journal is required and cannot be kept.
    """
    try:
        make_folder(settings.state_dir)
        return Keeper(settings, *made()), []
    except (OSError, AsyncStateError, MemoryError, ImportError) as error:  # the last: sqlite3 needs memory to load
        why = str(error) or "memory ran out"
        if isinstance(error, OSError):
            why = f"{settings.state_dir}: {error.strerror}"
        if settings.journaled == "required":
            raise JournalError(f"The journal is required and cannot be kept: {why}") from None
        return None, [f"This run is not in the journal, so it cannot be resumed: {why}"]
