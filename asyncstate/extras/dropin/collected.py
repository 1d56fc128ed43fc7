"""Runs whose report becomes an answer, with the lock, signals and journal of every run from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.cli.session import Session
from asyncstate.extras.dropin.answer import FAILED, STATE_FAILED, Answer
from asyncstate.extras.dropin.disabling import Disabled, check_enabled
from asyncstate.extras.dropin.rows import as_in_salt
from asyncstate.extras.dropin.settings import changed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row, RunReport
    from asyncstate.runtime import StateRuntime


class _Collected(Session):
    """A run that keeps its report and its plan. With ``failhard`` in a state it is serial, as in Salt."""

    report: RunReport | None = None
    plan: Plan | None = None

    def show(self, report: RunReport, plan: Plan | None = None) -> None:
        """Keep both."""
        self.report, self.plan = report, plan

    def _run_alone(self, planned: Callable[[StateRuntime], Awaitable[Plan]]) -> int:
        async def planned_in_order(runtime: StateRuntime) -> Plan:
            if "asked_for" in self.options:
                check_enabled(runtime.host.grains, self.options["asked_for"])
            if self.options.get("state_top"):
                runtime.host.opts["state_top"] = self.options["state_top"]  # the pillar keeps its own top file
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
    """Do the run that ``start`` starts, and return its rows, in another ``order`` if given.

    ``options`` are the options of a session and two more: ``asked_for``, SLS names or None for the highstate, refuses
    disabled ones; ``state_top`` names another top file. Raises CompileError, LockHeld, JournalError.
    """
    session = _Collected(console, settings, options)
    console.out = "json"  # the outputter shows the result, not the session
    try:
        ended = start(session)
    except Disabled as disabled:
        console.say(*disabled.told)
        return disabled.answer
    finally:
        console.out = "human"
    report = session.report
    if report is None:
        return Answer(value={}, retcode=FAILED, outputter="highstate", ended=ended)
    never_ended = bool(report.cancelled) and report.exit_code == STATE_FAILED
    retcode = STATE_FAILED if report.failed or never_ended else 0
    cut_short = ended if report.cancelled and not never_ended else 0
    if report.cancelled:
        console.say(f"The run was cut short: {report.cancelled}.")
    ordered = report.rows if order is None or session.plan is None else order(report.rows, session.plan)
    rows = {tag: as_in_salt(tag, row) for tag, row in ordered.items()}
    return Answer(value=rows, retcode=retcode, outputter="highstate", ended=cut_short)
