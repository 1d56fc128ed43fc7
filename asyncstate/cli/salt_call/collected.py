"""A run from the command line whose report is an answer: with its lock, its signals and its journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.cli.salt_call.answer import FAILED, STATE_FAILED, Answer
from asyncstate.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row, RunReport
    from asyncstate.run.lock import Holder


_NEVER = "00:00:00.000000"
_OF_STATES = frozenset({"__id__", "__sls__", "start_time", "duration"})


class _Collected(Session):
    """A run that keeps its report."""

    report: RunReport | None = None

    def show(self, report: RunReport, plan: Plan | None = None) -> None:  # noqa: ARG002 - the signature of Session
        """Keep the report."""
        self.report = report


def collect(console: Console, settings: Settings, options: dict[str, Any], start: Callable[[Session], int]) -> Answer:
    """Run what ``start`` starts, and return its rows. Raises CompileError, LockHeld, JournalError."""
    session = _Collected(console, settings, options)
    console.out = "json"  # what a session says to people is said by the outputter here
    try:
        ended = start(session)
    finally:
        console.out = "human"
    report = session.report
    if report is None:
        return Answer(value={}, retcode=FAILED, outputter="highstate", ended=ended)
    retcode = STATE_FAILED if report.failed else 0
    cut_short = ended if report.cancelled else 0
    if cut_short:
        console.say(f"The run was cut short: {report.cancelled}.")
    rows = {tag: _as_in_salt(row) for tag, row in report.rows.items()}
    return Answer(value=rows, retcode=retcode, outputter="highstate", ended=cut_short)


def _as_in_salt(row: Row) -> Row:
    """Return a row without what Salt's has not, if it stands for a highstate without states and never ran."""
    if row.get("__id__", "") is not None or row.get("start_time") != _NEVER:
        return row
    return {key: value for key, value in row.items() if key not in _OF_STATES}


def conflict(holder: Holder) -> str:
    """Return Salt's sentence about a run that is under way."""
    return f'The function "state.apply" is running as PID {holder.pid} and was started at {holder.since}'
