"""Keeper: writes one run to the journal: its plan, its events as they happen, and its entry at its end."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from asyncstate.errors import AsyncStateError, JournalError
from asyncstate.journal.entry import Header, end_line, entry_of
from asyncstate.journal.log import RunLog, keep_plan, log_path, make_folder, remove_run
from asyncstate.journal.store import end_run, tidy
from asyncstate.logs import get_logger
from asyncstate.model.encode import encoded
from asyncstate.model.event import RunFinished, RunStarted, encode_event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from asyncstate.config.settings import Settings
    from asyncstate.model.event import Event

    Plan = tuple[str, Callable[[], Iterable[bytes]]]
    """The key of a plan, and a function that makes its record: pieces of JSON."""

log: Final = get_logger(__name__)


class Keeper:
    """Writes one run. It is the first observer, so a result is in the journal before it is shown or releases a chunk.

    ``header`` is the first line of its log; the record of its ``plan`` is made if the journal has none. Raises OSError,
    PathRefused or JournalError if there can be no log. Later it never raises: ``trouble`` is called, once, with the
    reason why the log cannot be written, and `notices` report it in the end.
    """

    def __init__(self, settings: Settings, header: Header, plan: Plan | None = None) -> None:
        self.run_id: str = header.run
        self.trouble: Callable[[str], None] | None = None
        self._settings = settings
        self._header = header
        self._ends: list[RunStarted | RunFinished] = []
        self._told = ""
        make_folder(settings.state_dir)
        self._is_closed = False
        self._log = RunLog(log_path(settings.state_dir, header.run), self._tell, sync=settings.journal_sync == "full")
        self.write: Callable[[bytes | bytearray], None] = self._log.write
        """Write whole lines. Once this returns, they are safe against the death of this process."""
        try:
            self._begin(header, plan)
        except BaseException:
            with suppress(OSError):
                remove_run(self._log.path)
            self._log.close()
            raise

    def _begin(self, header: Header, plan: Plan | None) -> None:
        self.write(encoded(header) + b"\n")
        if plan is not None:
            keep_plan(self._log.path, *plan)
        if self._told:  # the disk is full
            raise self._log.error or OSError(self._told)

    def on_event(self, event: Event) -> None:
        """Write an event."""
        if isinstance(event, (RunStarted, RunFinished)):
            self._ends.append(event)
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
        """The journal's notices for the report: that it could not be written, if so."""
        if not self._told:
            return []
        has_gap = self._log.has_gap or self._log.error is not None
        now = "has a gap" if has_gap else "is written again, and nothing is missing"
        return [f"The journal in {self._settings.state_dir} could not be written ({self._told}): it {now}"]

    def close(self) -> None:
        """Write the entry of the run, and forget old runs. Blocks. If that fails, a later run does it."""
        if self._is_closed:
            return
        self._is_closed = True
        settings, log_ = self._settings, self._log
        try:
            try:
                self._end()
            finally:
                log_.close()
            tidy(settings.state_dir, settings.journal_keep_runs, settings.journal_keep_days)
        except Exception as error:  # noqa: BLE001 - the run is over: whatever goes wrong here must not cost its report
            log.warning("the journal keeps this run as %s: %s", log_.path, error or type(error).__name__)

    def _end(self) -> None:
        log_ = self._log
        entry = entry_of(self._header, self._ends, alive=False) if len(self._ends) > 1 else None
        if entry is not None:
            self.write(end_line(entry))
        if log_.finish():
            if entry is not None:
                end_run(log_.file, log_.path, entry)
        elif not self._told:
            log.warning("the journal keeps this run as %s: %s", log_.path, log_.error)


def keeper_of(settings: Settings, made: Callable[[], tuple[Header, Plan | None]]) -> tuple[Keeper | None, list[str]]:
    """Return the keeper of a run, None without one, and notices for the report. ``made`` gives its header and plan.

    Raises JournalError if the journal is required and cannot be kept.
    """
    try:
        make_folder(settings.state_dir)
        return Keeper(settings, *made()), []
    except (OSError, AsyncStateError, MemoryError) as error:
        why = str(error) or "memory ran out"
        if isinstance(error, OSError):
            why = f"{settings.state_dir}: {error.strerror}"
        if settings.journaled == "required":
            raise JournalError(f"The journal is required and cannot be kept: {why}") from None
        return None, [f"This run is not in the journal, so it cannot be resumed: {why}"]
