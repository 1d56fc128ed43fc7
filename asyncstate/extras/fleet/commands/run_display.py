"""Display of a run by the commands of a fleet: its progress, its events, its report."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from asyncstate.extras.fleet.controller.event_stream import Relay
from asyncstate.model.encode import encoded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from asyncstate.cli.console import Console
    from asyncstate.cli.display import ReportDisplay
    from asyncstate.config import Settings
    from asyncstate.extras.fleet.controller.controller import Controller
    from asyncstate.extras.fleet.controller.event_stream import FleetEnd, HostEnd
    from asyncstate.extras.fleet.protocol import Go, HostPlan
    from asyncstate.extras.fleet.report.profile import FleetProfile
    from asyncstate.extras.fleet.report.progress import LiveFleetProgress, PlainFleetProgress
    from asyncstate.extras.fleet.report.traces import FleetTrace
    from asyncstate.model.event import AnyEvent
    from asyncstate.model.result import HostResult
    from asyncstate.report.recorded import RecordedReport


def shown_as(options: dict[str, Any]) -> dict[str, Any]:
    """Return the display options of a command that drives a run to its end."""
    named = ("progress", "report", "quiet_ok", "detailed_exitcode", "diffs")
    return {"traced": True, **{name: options[name] for name in named}}


def of_host(host: str, words: str) -> str:
    """Return the words of a host under its name: only its own name stands at the margin, so it speaks for no other."""
    return f"{host}: " + "\n    ".join(words.splitlines())


class RunDisplay(Relay):
    """Shows a run: its events as lines of JSON while it goes on, else its progress, and its reports at the end.

    Further arguments are named as the options. ``traced`` sends traces if the settings ask for them. Raises ConfigError
    if that is impossible.
    """

    def __init__(
        self,
        console: Console,
        settings: Settings,
        *,
        progress: str = "none",
        report: str | None = None,
        quiet_ok: bool = False,
        detailed_exitcode: bool = False,
        diffs: bool | None = None,
        traced: bool = False,
        lanes: Collection[str] = (),
    ) -> None:
        self._lanes = lanes
        self._console = console
        self._settings = settings
        self._reports: dict[str, RecordedReport] = {}
        self._plans: dict[str, HostPlan] = {}
        self._goes: dict[str, Go] = {}
        self._progress = self._make_progress(console.fitting_progress(progress, quiet=quiet_ok))
        self._report = report
        self._quiet_ok = quiet_ok
        self._detailed_exitcode = detailed_exitcode
        self._diffs = diffs
        self._profile = self._make_profile()
        self._tracing: Any = None
        self._trace = self._make_trace() if traced else None
        super().__init__(*(each for each in (self._progress, self._profile, self._trace) if each is not None))

    def _make_progress(self, wanted: str) -> LiveFleetProgress | PlainFleetProgress | None:
        if wanted == "none":
            return None
        from asyncstate.extras.fleet.report.progress import LiveFleetProgress, PlainFleetProgress

        return LiveFleetProgress(sys.stderr) if wanted == "live" else PlainFleetProgress(sys.stderr)

    def _make_profile(self) -> FleetProfile | None:
        if self._report is None:
            return None
        from asyncstate.extras.fleet.report.profile import FleetProfile

        return FleetProfile()

    def _make_trace(self) -> FleetTrace | None:
        traces = self._console.traces(self._settings)
        if traces is None:
            return None
        self._tracing = traces.export(self._console, self._settings)
        export = self._tracing.begin()
        if export is None:
            return None
        from asyncstate.extras.fleet.report.traces import FleetTrace

        return FleetTrace(export.tracer, "asyncstate fleet apply", traces.spans, export.parent)

    @contextmanager
    def following(self, controller: Controller) -> Iterator[None]:
        """Show progress while the run goes on, and let signals stop and cancel it by the rules of a local one."""

        class Ended:
            def stop(self, reason: str) -> None:
                controller.cancel(reason)

            def cancel(self, reason: str) -> None:
                controller.cancel(reason, now=True)

        try:
            with self._display().followed(Ended(), self._progress):
                yield
        except Exception as error:
            if self._trace is not None:
                self._trace.failed(self._console.secrets.redactor.text(str(error)))
            if self._tracing is not None:
                self._tracing.end()
            raise

    def planned(self, host: str, plan: HostPlan) -> None:
        """Keep the files and lines of a host's states."""
        super().planned(host, plan)
        self._plans[host] = plan

    def joined(self, plans: Mapping[str, HostPlan], goes: Mapping[str, Go]) -> None:
        """Keep the states that hosts wait for; name lanes in the options that have no state."""
        from asyncstate.extras.fleet.rollout.admission import lanes_without_states

        super().joined(plans, goes)
        self._goes.update(goes)
        self._console.say(*lanes_without_states(self._lanes, plans.values()))

    def noted(self, words: str) -> None:
        """Print notes for the operator before hosts begin."""
        super().noted(words)
        self._console.say(words)

    def begun(self, host: str, attempt: int) -> None:
        """Start the report of a host again."""
        from asyncstate.report.recorded import RecordedReport

        self._reports[host] = RecordedReport()
        super().begun(host, attempt)

    def event(self, host: str, event: AnyEvent) -> None:
        """Take an event of a host."""
        self._reports[host].on_event(event)
        super().event(host, event)
        if self._console.out == "jsonl":
            import msgspec

            from asyncstate.model.event import encode_event

            fields = msgspec.json.decode(encode_event(event))
            self._console.write(encoded({"host": host, **fields}) + b"\n", redacted=True)

    def lost(self, host: str, seconds: float) -> None:
        """Say that a host is lost."""
        from asyncstate.report.terminal import short_time

        super().lost(host, seconds)
        self._console.say(f"{host} is lost: there was no sign of it for {short_time(seconds)}")

    def ended(self, host: str, end: HostEnd) -> None:
        """Say why the part of a host has no report."""
        super().ended(host, end)
        if end.why:
            self._console.say(of_host(host, end.why))

    def end(self, end: FleetEnd) -> int:
        """Show the whole run; return the exit code of the program."""
        results = self._console.results = list(self._results(end))
        silent = self._quiet_ok and not end.exit_code and all(each.uneventful for each in results)
        if not silent:
            self._console.release()
        display = self._display()
        if end.issues:
            display.refuse(end.issues)
        if self._console.out == "json":
            rows = {host: recorded.report().rows for host, recorded in sorted(self._reports.items())}
            self._console.data({**{host: {} for host in end.hosts}, **rows}, redacted=True)
        elif self._console.out == "human" and not silent:
            self._console.lines(self._human(end, display), redacted=True)
        elif self._console.out == "github" and not silent:
            display.on_github(self._human(end, display), "error", end.issues, results)
        display.write_junit(results)
        self._write_page(end, results)
        if self._trace is not None:
            self._trace.close(end)
        if self._tracing is not None:
            self._tracing.end()
        return self._console.exit_code(end.exit_code, detailed=self._detailed_exitcode)

    def _results(self, end: FleetEnd) -> Iterator[HostResult]:
        """Yield the result of each host, also of hosts without a report."""
        from asyncstate.extras.fleet.report.blockers import held_back_on_host
        from asyncstate.model.result import HostResult
        from asyncstate.report.recorded import RecordedReport

        reports = {}
        for host, host_end in end.hosts.items():
            recorded = self._reports.get(host, RecordedReport())  # one without a beginning is not cut short
            cut_short = (host_end.why or "lost", self._places(host)) if recorded.begun else ()
            reports[host] = recorded.report(*cut_short)
        rows = {host: report.rows for host, report in reports.items()}
        for host, host_end in end.hosts.items():
            report = reports[host]
            held = held_back_on_host(host, rows, self._plans.get(host), self._goes.get(host))
            yield HostResult(host=host, report=report, places=self._places(host), held=held, problem=host_end.why)

    def _places(self, host: str) -> dict[str, tuple[str, int]]:
        """Return file and line of the states of a host, by tag."""
        return self._plans[host].places() if host in self._plans else {}

    def _write_page(self, end: FleetEnd, results: list[HostResult]) -> None:
        if self._report is not None and self._profile is not None:
            from asyncstate.extras.fleet.report.html import fleet_html_report

            page = fleet_html_report(end.run, end.hosts, results, self._profile, issues=end.issues, plans=self._plans)
            self._console.write_file(self._report, page)

    def _hints(self) -> Iterator[str]:
        """Yield for hosts without states the reason and a hint: their only row has neither."""
        for each in self._console.results:
            if each.has_no_states:
                yield from (f"{each.host}: {issue}" for issue in each.report.warnings)

    def _display(self) -> ReportDisplay:
        from asyncstate.cli.display import ReportDisplay

        return ReportDisplay(self._console, self._settings, diffs=self._diffs)

    def _human(self, end: FleetEnd, display: ReportDisplay) -> Iterator[str]:
        from asyncstate.report.terminal import count

        self._console.say(*self._hints())
        for each in self._console.results:
            if each.host not in self._reports or not self._reports[each.host].begun:
                continue  # why it did not begin has been said
            yield from display.text(each)
            yield ""
        failed = [host for host, each in end.hosts.items() if each.exit_code]
        said = f": {', '.join(failed)}" if failed else ""
        yield f"Run {end.run}: {count(len(end.hosts), 'host')}, {len(failed)} failed{said}"
