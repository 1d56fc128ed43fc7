"""How the commands of a fleet show a run: its progress, its events, its report."""

from __future__ import annotations

import shutil
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from asyncstate.fleet.controller.tale import Relay

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.fleet.controller.controller import Controller
    from asyncstate.fleet.controller.tale import FleetEnd, HostEnd
    from asyncstate.model.event import AnyEvent
    from asyncstate.report.fleet_profile import FleetProfile
    from asyncstate.report.fleet_progress import LiveFleetProgress, PlainFleetProgress
    from asyncstate.report.recorded import RecordedReport

_TICK = 0.125


class Shown(Relay):
    """Shows a run: its events as lines of JSON while it goes on, else its progress, and its reports at the end.

    ``progress`` and ``report``, a file, are those of the options.
    """

    def __init__(
        self, console: Console, settings: Settings, *, progress: str = "none", report: str | None = None
    ) -> None:
        self._console = console
        self._settings = settings
        self._reports: dict[str, RecordedReport] = {}
        self._progress = self._make_progress(progress)
        self._report = report
        self._profile = self._make_profile()
        super().__init__(*(each for each in (self._progress, self._profile) if each is not None))

    def _make_progress(self, wanted: str) -> LiveFleetProgress | PlainFleetProgress | None:
        if wanted == "auto":
            plain = "plain" if self._console.out == "human" else "none"
            wanted = "live" if sys.stderr.isatty() else plain
        if wanted == "none":
            return None
        from asyncstate.report.fleet_progress import LiveFleetProgress, PlainFleetProgress

        return LiveFleetProgress(sys.stderr) if wanted == "live" else PlainFleetProgress(sys.stderr)

    def _make_profile(self) -> FleetProfile | None:
        if self._report is None:
            return None
        from asyncstate.report.fleet_profile import FleetProfile

        return FleetProfile()

    @contextmanager
    def following(self, controller: Controller) -> Iterator[None]:
        """Show progress while the run goes on, and let signals stop and cancel it by the rules of a local one."""
        from asyncstate.cli.session import ended_by_signals
        from asyncstate.run.timer import Timer

        class Ended:
            def stop(self, reason: str) -> None:
                controller.cancel(reason)

            def cancel(self, reason: str) -> None:
                controller.cancel(reason, now=True)

        progress = self._progress
        with ended_by_signals(Ended(), self._console.say, self._settings.grace_seconds):
            if progress is None:
                yield
                return
            try:
                with Timer(_TICK, progress.tick, repeat=True):
                    yield
            finally:
                progress.close()

    def noted(self, words: str) -> None:
        """Say what the operator should know before hosts begin."""
        super().noted(words)
        self._console.say(words)

    def begun(self, host: str, attempt: int) -> None:
        """Begin the report of a host anew."""
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
            self._console.write(msgspec.json.encode({"host": host, **fields}) + b"\n", redacted=True)

    def lost(self, host: str, seconds: float) -> None:
        """Say that a host is lost."""
        super().lost(host, seconds)
        self._console.say(f"{host} is lost: there was no sign of it for {seconds:.0f} s")

    def ended(self, host: str, end: HostEnd) -> None:
        """Say why the part of a host has no report."""
        super().ended(host, end)
        if end.why:
            self._console.say(f"{host}: {end.why}")

    def end(self, end: FleetEnd) -> None:
        """Show the whole run."""
        if end.issues:
            from asyncstate.report.issues import issue_lines

            self._console.say(*issue_lines(end.issues, self._console.palette()))
        if self._console.out == "json":
            rows = {host: recorded.report().rows for host, recorded in sorted(self._reports.items())}
            self._console.data({**{host: {} for host in end.hosts}, **rows}, redacted=True)
        elif self._console.out == "human":
            self._console.lines(self._human(end), redacted=True)
        if self._report is not None and self._profile is not None:
            self._write_report(end, self._report, self._profile)

    def _write_report(self, end: FleetEnd, path: str, profile: FleetProfile) -> None:
        from asyncstate.cli.output_file import write_file
        from asyncstate.errors import AsyncStateError
        from asyncstate.report.fleet_html import fleet_html_report

        reports = {host: recorded.report("lost") for host, recorded in sorted(self._reports.items())}
        page = fleet_html_report(end.run, end.hosts, reports, profile, end.issues)
        try:
            write_file(path, page.encode("utf-8", "backslashreplace"))
        except (OSError, AsyncStateError) as error:
            self._console.unwritten(path, getattr(error, "strerror", None) or str(error))

    def _human(self, end: FleetEnd) -> Iterator[str]:
        from asyncstate.report.human import report_lines, style_from_options

        width = shutil.get_terminal_size().columns
        style = style_from_options(self._settings.opts(), self._console.palette(), width=width, places={})
        for host, recorded in sorted(self._reports.items()):
            yield from report_lines(recorded.report("lost"), style, host)
            yield ""
        failed = [host for host, each in end.hosts.items() if each.exit_code]
        said = f": {', '.join(failed)}" if failed else ""
        hosts = "1 host" if len(end.hosts) == 1 else f"{len(end.hosts)} hosts"
        yield f"Run {end.run}: {hosts}, {len(failed)} failed{said}"
