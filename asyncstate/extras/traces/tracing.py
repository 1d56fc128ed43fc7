"""Tracing of runs by OpenTelemetry: its activation, the trace of a run on this machine, the messages if it fails."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate.cli.settings import COLLECTORS
from asyncstate.errors import AsyncStateError, CompileError, ConfigError, Issue
from asyncstate.model.plan import places_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.extras.traces.export import Export
    from asyncstate.extras.traces.spans import RunTrace, Waits
    from asyncstate.model.event import Phase
    from asyncstate.model.plan import Plan
    from asyncstate.runtime import StateRuntime

_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_PROTOCOL = "http/protobuf"


class Tracing:
    """The export of the spans of one run."""

    def __init__(self, console: Console, settings: Settings) -> None:
        self.console = console
        self.settings = settings
        self._export: Export | None = None

    def begin(self) -> Export | None:
        """Return the export of spans.

        Raises ConfigError if the settings want spans and they cannot be exported; if only the environment does, the
        console shows a message, and this returns None: the run goes on.
        """
        try:
            self._export = _made()
        except ConfigError as error:
            if self.settings.traced == "on":
                raise
            said = f"warning: this run is not traced: {error}"
            self.console.say(said, "  traces: off silences this warning")
        return self._export

    def end(self) -> None:
        """Send the remaining spans, with a message if that fails. Waits some seconds at most."""
        export, self._export = self._export, None
        why = "" if export is None else export.close()
        if why and self.console.warns:
            self.console.say(f"warning: {why}", f"  the collector is {_collector()}")


def _collector() -> str:
    """Return the collector that the environment names."""
    from asyncstate.data.urls import without_credentials

    named = next((os.environ[name] for name in COLLECTORS if os.environ.get(name)), "http://localhost:4318")
    return str(without_credentials(named))


def _made() -> Export:
    exporter = os.environ.get("OTEL_TRACES_EXPORTER", "").strip() or "otlp"
    if exporter not in ("otlp", "none"):
        raise ConfigError(f"OTEL_TRACES_EXPORTER is {exporter}, and only otlp is known")
    for name in _PROTOCOLS:
        if os.environ.get(name, _PROTOCOL) != _PROTOCOL:
            raise ConfigError(f"{name} is {os.environ[name]}, and only {_PROTOCOL} is known")
    try:
        from asyncstate.extras.traces.export import Export
    except ImportError as error:
        if not str(error.name).startswith(("opentelemetry", "google", "requests")):
            raise
        raise ConfigError(
            "traces need OpenTelemetry: pip install 'opentelemetry-sdk>=1.30' "
            "'opentelemetry-exporter-otlp-proto-http>=1.30'"
        ) from None
    try:
        return Export()
    except Exception as error:  # noqa: BLE001 - what a library makes of odd variables of the environment
        raise ConfigError(f"OpenTelemetry refuses its settings: {type(error).__name__}: {error}") from None


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
        from asyncstate.extras.traces.spans import waits_in

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
        from asyncstate.extras.traces.spans import RunTrace

        named = host or self._tracing.settings.id  # the runtime may not have started
        return RunTrace(export.tracer, f"asyncstate {self._command}", named, export.parent)

    def end(self) -> None:
        """End the trace, and send its remaining spans."""
        if self._trace is not None:
            self._trace.close()
        self._tracing.end()


class Traces:
    """What the engine and other extras ask for: the trace of a run here, and the export and spans of other runs."""

    of_run = RunTracing
    export = Tracing

    @staticmethod
    def spans(*arguments: Any) -> RunTrace:
        """Return an observer that makes spans of events: see `RunTrace`."""
        from asyncstate.extras.traces.spans import RunTrace

        return RunTrace(*arguments)
