"""A run from the command line whose report is an answer: with its lock, its signals and its journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.cli.salt_call.answer import FAILED, STATE_FAILED, Answer
from asyncstate.cli.salt_call.rows import as_in_salt
from asyncstate.cli.salt_call.settings import changed
from asyncstate.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row, RunReport
    from asyncstate.run.lock import Holder
    from asyncstate.runtime import StateRuntime


class _Collected(Session):
    """A run that keeps its report and its plan. With ``failhard`` in it, it is a serial one: all stops there."""

    report: RunReport | None = None
    plan: Plan | None = None

    def show(self, report: RunReport, plan: Plan | None = None) -> None:
        """Keep both."""
        self.report, self.plan = report, plan

    def _run_alone(self, planned: Callable[[StateRuntime], Awaitable[Plan]]) -> int:
        async def planned_in_order(runtime: StateRuntime) -> Plan:
            if self.options.get("state_top"):
                runtime.host.opts["state_top"] = self.options["state_top"]  # that of the pillar is another
            plan = await planned(runtime)
            if any(chunk.args.get("failhard", runtime.settings.failhard) for chunk in plan.chunks):
                runtime.settings = changed(runtime.settings, concurrency=1)
            return plan

        return super()._run_alone(planned_in_order)


def collect(
    console: Console,
    settings: Settings,
    options: dict[str, Any],
    start: Callable[[Session], int],
    order: Callable[[Mapping[str, Row], Plan], Mapping[str, Row]] | None = None,
) -> Answer:
    """Run what ``start`` starts, and return its rows, in another ``order`` if given.

    Raises CompileError, LockHeld, JournalError.
    """
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
    ordered = report.rows if order is None or session.plan is None else order(report.rows, session.plan)
    rows = {tag: as_in_salt(row) for tag, row in ordered.items()}
    return Answer(value=rows, retcode=retcode, outputter="highstate", ended=cut_short)


def conflict(holder: Holder) -> str:
    """Return Salt's sentence about a run that is under way."""
    return f'The function "state.apply" is running as PID {holder.pid} and was started at {holder.since}'
