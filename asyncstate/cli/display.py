"""The report of a run for people, in the form that the command line, the configuration or the terminal asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from asyncstate.cli.console import columns
from asyncstate.model.forecast import forecast
from asyncstate.report.blockers import held_back
from asyncstate.report.human import BRIEF, DEFAULT_FORM, Style, report_lines, style_from_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.errors import Issue
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import HostResult, RunReport

_BESIDE_A_DIFF = 4
"""Lines of a terminal that a diff leaves for the line of its state and its surroundings."""


def style_of(
    console: Console,
    settings: Settings,
    places: Mapping[str, str] | None = None,
    *,
    everything: bool = False,
    diffs: bool | None = None,
) -> Style:
    """Return the style of the report. The default form is ``brief`` on a terminal, else ``full``.

    ``brief`` shows states that were as wanted only with ``state_verbose`` or ``everything``.
    ``places`` are those of `Style`, ``diffs`` is ``--diff``: a dry run on a terminal shows diffs by default, each cut
    to the height of the terminal.
    """
    options, stream = settings.opts(), console.stdout
    asked_for = "state_output" in settings.origins or settings.state_output != DEFAULT_FORM
    if not asked_for and console.on_terminal:
        options["state_output"] = BRIEF
    cut = 0
    if diffs is None and console.on_terminal:
        import shutil

        cut = max(shutil.get_terminal_size().lines - _BESIDE_A_DIFF, 1)
    style = style_from_options(
        options, console.palette(), width=columns(stream), places=places or {}, diffs=diffs, diff_lines=cut
    )
    if style.form == BRIEF and "state_verbose" not in settings.origins and not everything:
        return structs.replace(style, state_verbose=False)
    return style


def brief_style(console: Console, settings: Settings) -> Style:
    """Return the style of ``brief`` with a line for each state, also those that were as wanted."""
    options = {**settings.opts(), "state_output": BRIEF}
    return style_from_options(options, console.palette(), width=columns(console.stdout))


def show_on_github(
    console: Console, text: Iterable[str], level: str, issues: Iterable[Issue], results: Iterable[HostResult]
) -> None:
    """Write the text of a report as a job's log, and annotations of its issues and of what failed."""
    from asyncstate.report.github import failure_annotations, issue_annotations, without_commands

    console.lines(without_commands(text), redacted=True)
    console.lines(issue_annotations(level, issues))
    console.lines(failure_annotations(results), redacted=True)


def report_text(report: RunReport, style: Style, *, plan: Plan | None = None, host: str = "") -> Iterator[str]:
    """Yield the report of a run. ``plan`` is its plan, if known, and ``host`` its host, if it is one of several."""
    foretold = forecast(report, plan) if plan is not None else None
    if plan is not None:
        style = structs.replace(style, held=held_back(report, plan))
    if style.form == BRIEF:
        from asyncstate.report.brief import brief_lines

        if style.diffs is None and style.diff_lines and report.test:
            style = structs.replace(style, diffs=True)

        return brief_lines(report, style, host, foretold)
    return report_lines(report, style, host or "local", foretold)
