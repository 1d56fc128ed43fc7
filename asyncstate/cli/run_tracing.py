"""Tracing of a run on this machine, if wanted: from the plan to its end, or to the error that ended it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.cli.tracing import Tracing
from asyncstate.errors import AsyncStateError, CompileError, ConfigError, Issue
from asyncstate.model.plan import places_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.model.event import Phase
    from asyncstate.model.plan import Plan
    from asyncstate.report.trace_export import Export
    from asyncstate.report.traces import RunTrace, Waits
    from asyncstate.runtime import StateRuntime


class RunTracing:
    """The trace of one run. ``command`` names it."""

    def __init__(self, console: Console, settings: Settings, command: str) -> None:
        self._tracing = Tracing(console, settings)
        self._command = command
        self._trace: RunTrace | None = None

    async def begin(self, runtime: StateRuntime, plan: Plan, host: str) -> RunTrace | None:
        """Return the observer that makes spans of the run's events, None without tracing. Raises ConfigError."""
        export = self._tracing.begin()
        if export is None:
            return None
        from asyncstate.report.traces import waits_in

        def places_and_waits() -> tuple[dict[str, tuple[str, int]], Waits]:
            shown = runtime.shown(plan)
            return places_of(shown, [chunk.tag for chunk in shown.chunks]), waits_in(shown)

        trace = self._new(export, host)
        trace.places, trace.waits = await runtime.host.workers.run(places_and_waits)
        self._trace = trace
        return trace

    def failed(self, error: Exception, phases: Sequence[Phase], began: float, host: str) -> None:
        """End the trace with the error that ended the run, or make a trace of a run that could not begin."""
        if self._trace is None and isinstance(error, AsyncStateError):
            self._refused(error, phases, began, host)
        self.end()

    def _refused(self, error: AsyncStateError, phases: Sequence[Phase], began: float, host: str) -> None:
        try:
            export = self._tracing.begin()
        except ConfigError:  # only the first error is reported
            return
        if export is None:
            return
        redactor = self._tracing.console.secrets.redactor
        issues = error.issues if isinstance(error, CompileError) else [Issue(str(error))]
        shown = [
            issue._replace(message=redactor.text(issue.message), hint=redactor.text(issue.hint)) for issue in issues
        ]
        self._trace = self._new(export, host)
        self._trace.refused(phases, began, shown, exit_code=1)

    def _new(self, export: Export, host: str) -> RunTrace:
        from asyncstate.report.traces import RunTrace

        named = host or self._tracing.settings.id  # the runtime may not have started
        return RunTrace(export.tracer, f"asyncstate {self._command}", named, export.parent)

    def end(self) -> None:
        """End the trace, and send its remaining spans."""
        if self._trace is not None:
            self._trace.close()
        self._tracing.end()
