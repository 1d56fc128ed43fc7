"""Runs in the journal as text: the list of runs, and one run with its states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.model.forecast import forecast_text
from asyncstate.report.brief import brief_lines
from asyncstate.report.terminal import PLAIN, Palette, clean, count, date_and_time, short_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from asyncstate.journal.entry import RunEntry
    from asyncstate.model.forecast import Foretold
    from asyncstate.model.result import RunReport
    from asyncstate.report.human import Style

_COLUMNS = ("Run", "Begun", "Took", "States", "Changed", "Failed", "Held back", "How it ended")
_NUMBERS = frozenset({"Took", "States", "Changed", "Failed", "Held back"})


def begun_text(entry: RunEntry) -> str:
    """Return the start of a run as text, in local time."""
    return date_and_time(entry.begun)


def ending_text(entry: RunEntry) -> str:
    """Return the ending and the kind of a run as text."""
    parts = [entry.ending]
    failed, held_back = entry.counts.get("failed"), entry.counts.get("held_back")
    if entry.ending == "finished":
        parts += [f"{count(failed, 'state')} failed"] if failed else []
        parts += [f"{held_back if failed else count(held_back, 'state')} held back"] if held_back else []
    if entry.test:
        parts.append(f"dry run: {told}" if (told := forecast_text(entry.foretold)) else "dry run")
    if entry.resumes:
        parts.append(f"went on with {entry.resumes[:8]}")
    return ", ".join(parts)


def took_text(entry: RunEntry) -> str:
    """Return the duration of a run as text, "" if it has not ended."""
    return "" if entry.ended is None else short_time(max(entry.ended - entry.begun, 0.0))


def run_table(entries: Iterable[RunEntry], palette: Palette = PLAIN) -> Iterator[str]:
    """Yield a table of runs; only its headings if there are none."""
    known = list(entries)
    rows = [_cells(entry) for entry in known]
    widths = [max(map(len, column)) for column in zip(_COLUMNS, *rows, strict=True)]
    yield palette.paint(palette.cyan, _line(_COLUMNS, widths))
    for entry, cells in zip(known, rows, strict=True):
        yield palette.paint(_colour(entry, palette), _line(cells, widths))


def _cells(entry: RunEntry) -> tuple[str, ...]:
    numbers = (
        "" if name == "changed" and entry.test else str(entry.counts.get(name, ""))
        for name in ("chunks", "changed", "failed", "held_back")
    )
    return (entry.id, begun_text(entry), took_text(entry), *numbers, clean(ending_text(entry)))


def _line(cells: Iterable[str], widths: Iterable[int]) -> str:
    aligned = (
        cell.rjust(width) if name in _NUMBERS else cell.ljust(width)
        for name, cell, width in zip(_COLUMNS, cells, widths, strict=True)
    )
    return "  ".join(aligned).rstrip()


def _colour(entry: RunEntry, palette: Palette) -> str:
    if entry.ending == "under way":
        return palette.yellow
    return palette.red if entry.exit_code != 0 else ""


def run_data(entry: RunEntry) -> dict[str, Any]:
    """Return the journal's entry of a run as data, for programs."""
    data: dict[str, Any] = msgspec.to_builtins(entry)
    del data["boot"], data["uptime"]  # they are for the order alone
    return data


def run_lines(
    entry: RunEntry, report: RunReport, style: Style, foretold: Mapping[str, Foretold] | None = None
) -> Iterator[str]:
    """Yield the facts about a run, a line for each state, and the summary.

    ``foretold`` is the `forecast` of a dry run, if it was made.
    """
    palette = style.palette
    facts = {
        "Run": entry.id,
        "Begun": begun_text(entry),
        "Took": took_text(entry),
        "Ended": ending_text(entry),
        "Exit code": "" if entry.exit_code is None else str(entry.exit_code),
        "Host": entry.host,
        "At once": count(entry.concurrency, "state"),
        "Plan": entry.digest[:16],
        "Command": str(entry.about.get("line") or ""),
        "Options": _options({name: value for name, value in entry.about.items() if name != "line"}),
    }
    width = max(map(len, facts)) + 1
    for name, value in facts.items():
        if value:
            yield f"{palette.paint(palette.cyan, f'{name}:'.ljust(width))} {clean(value)}"
    yield ""
    yield from brief_lines(report, style, foretold=foretold)


def _options(options: Mapping[str, Any]) -> str:
    told = (
        (name.replace("_", "-"), value) for name, value in options.items() if value not in (None, "", False, [], {})
    )
    return ", ".join(f"{name} {_words(value)}" for name, value in told)


def _words(value: Any) -> str:
    return " ".join(map(_words, value)) if isinstance(value, (list, tuple)) else str(value)
