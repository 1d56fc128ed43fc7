"""The report of a run for people, in the form that the command line, the configuration or the terminal asks for."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import structs

from asyncstate.report.forecast import forecast
from asyncstate.report.held import held_back
from asyncstate.report.human import BRIEF, DEFAULT_FORM, Style, report_lines, style_from_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TextIO

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import RunReport

_USUAL_WIDTH = 80


def columns(stream: TextIO | None) -> int:
    """Return the width of the terminal behind ``stream``, or that of ``COLUMNS``; 0 if it is no terminal."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    if stream is None or not stream.isatty():
        return 0
    with suppress(OSError, io.UnsupportedOperation):
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_WIDTH
    return _USUAL_WIDTH


def style_of(
    console: Console, settings: Settings, places: Mapping[str, str] | None = None, *, everything: bool = False
) -> Style:
    """Return how states are shown. Where nobody asked for a form, that is ``brief`` on a terminal, else ``full``.

    ``brief`` shows states that were as wanted only if ``state_verbose`` was asked for, or ``everything`` is wanted.
    ``places`` are those of `Style`.
    """
    options, stream = settings.opts(), console.stdout
    asked_for = "state_output" in settings.origins or settings.state_output != DEFAULT_FORM
    if not asked_for and stream is not None and stream.isatty():
        options["state_output"] = BRIEF
    style = style_from_options(options, console.palette(), width=columns(stream), places=places or {})
    if style.form == BRIEF and "state_verbose" not in settings.origins and not everything:
        return structs.replace(style, state_verbose=False)
    return style


def brief_style(console: Console, settings: Settings) -> Style:
    """Return the style of ``brief`` with a line for each state, also those that were as wanted."""
    options = {**settings.opts(), "state_output": BRIEF}
    return style_from_options(options, console.palette(), width=columns(console.stdout))


def report_text(report: RunReport, style: Style, *, plan: Plan | None = None, host: str = "") -> Iterator[str]:
    """Yield the report of a run. ``plan`` is its plan, if known, and ``host`` its host, if it is one of several."""
    foretold = forecast(report, plan) if plan is not None else None
    if plan is not None:
        style = structs.replace(style, held=held_back(report, plan))
    if style.form == BRIEF:
        from asyncstate.report.brief import brief_lines

        return brief_lines(report, style, host, foretold)
    return report_lines(report, style, host or "local", foretold)
