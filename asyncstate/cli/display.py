"""The report of a run for people, in the form that the command line, the configuration or the terminal asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from asyncstate.cli.console import columns
from asyncstate.model.chunk import file_line
from asyncstate.model.forecast import forecast
from asyncstate.report.human import BRIEF, DEFAULT_FORM, Style, report_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from asyncstate.cli.console import Console
    from asyncstate.cli.event_loop import Ending, Stoppable
    from asyncstate.cli.run_progress import Display as Progress
    from asyncstate.config import Settings
    from asyncstate.errors import Issue
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import HostResult

_BESIDE_A_DIFF = 4
"""Lines of a terminal that a diff leaves for the line of its state and its surroundings."""


def _style_of(console: Console, settings: Settings, *, everything: bool, diffs: bool | None) -> Style:
    """Return the style of the report. The default form is ``brief`` on a terminal, else ``full``.

    ``brief`` shows states that were as wanted only with ``state_verbose`` or ``everything``. A dry run on a terminal
    shows diffs by default, each cut to the height of the terminal.
    """
    options, stream = settings.opts(), console.stdout
    asked_for = "state_output" in settings.origins or settings.state_output != DEFAULT_FORM
    if not asked_for and console.on_terminal:
        options["state_output"] = BRIEF
    cut = 0
    if diffs is None and console.on_terminal:
        import shutil

        cut = max(shutil.get_terminal_size().lines - _BESIDE_A_DIFF, 1)
    style = Style.of(options, console.palette(), width=columns(stream), diffs=diffs, diff_lines=cut)
    if style.form == BRIEF and "state_verbose" not in settings.origins and not everything:
        return structs.replace(style, state_verbose=False)
    return style


def brief_style(console: Console, settings: Settings) -> Style:
    """Return the style of ``brief`` with a line for each state, also those that were as wanted."""
    options = {**settings.opts(), "state_output": BRIEF}
    return Style.of(options, console.palette(), width=columns(console.stdout))


class ReportDisplay:
    """Shows the reports of a run to people.

    ``everything``: also the states that were as wanted; ``diffs`` is ``--diff``: see `_style_of`.
    """

    def __init__(
        self, console: Console, settings: Settings, *, everything: bool = False, diffs: bool | None = None
    ) -> None:
        self._console = console
        self._settings = settings
        self._style = _style_of(console, settings, everything=everything, diffs=diffs)

    def text(self, result: HostResult, plan: Plan | None = None) -> Iterator[str]:
        """Yield the report of a host. ``plan`` is its plan, if known."""
        report = result.report
        known = result.places if report.failed else {}
        places = {tag: file_line(*place) for tag, place in known.items() if place[0]}
        style = structs.replace(self._style, places=places, held=result.held)
        foretold = forecast(report, plan) if plan is not None else None
        if style.form == BRIEF:
            from asyncstate.report.brief import brief_lines

            if style.diffs is None and style.diff_lines and report.test:
                style = structs.replace(style, diffs=True)

            return brief_lines(report, style, result.host, foretold)
        return report_lines(report, style, result.host or "local", foretold)

    def followed(self, run: Stoppable, progress: Progress | None) -> AbstractContextManager[Ending]:
        """Show progress while the block lasts, and let signals stop and cancel the run (see `Ending`)."""
        from asyncstate.cli.run_progress import followed

        return followed(run, progress, self._console, self._settings)

    def refuse(self, issues: Sequence[Issue]) -> None:
        """Say why the run did not begin."""
        from asyncstate.report.issues import issue_lines

        self._console.say(*issue_lines(issues, self._console.palette()))

    def write_junit(self, results: Iterable[HostResult]) -> None:
        """Write the file of --junit, if it is wanted."""
        if self._console.junit:
            from asyncstate.report.junit import junit_xml

            self._console.write_file(self._console.junit, junit_xml(results))

    def on_github(
        self, text: Iterable[str], level: str, issues: Iterable[Issue], results: Iterable[HostResult]
    ) -> None:
        """Write the text of reports as a job's log, and annotations of issues and of what failed."""
        from asyncstate.report.github import failure_annotations, issue_annotations, without_commands

        self._console.lines(without_commands(text), redacted=True)
        self._console.lines(issue_annotations(level, issues))
        self._console.lines(failure_annotations(results), redacted=True)
