"""The last lines of a report: Salt's counts, or one line of them; then the facts about a concurrent run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from asyncstate.dunders import NOT_TOLD
from asyncstate.model.forecast import Foretold, forecast_text
from asyncstate.model.result import was_held_back
from asyncstate.report.terminal import PLAIN, Palette, count, one_line, short_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from asyncstate.model.result import Row, RunReport

_LABEL_WIDTH = len("Succeeded: ")
_LONG_ENOUGH = 1000.0
"""Milliseconds a run must take before the speed-up is shown; in shorter ones states mostly wait for each other."""
_LISTED = 20
"""Number of unstarted states that are named; the rest is only counted."""


AS_WANTED = "as wanted"
"""The word for a state that had nothing to change."""


def outcome_word(row: Row, foretold: Foretold | None = None, *, dry: bool = False) -> str:
    """Return the outcome of a state in a word or two; in a dry run (``dry``), the expected one."""
    if row["result"] is False:
        return "held back" if was_held_back(row) else "failed"
    if row.get(NOT_TOLD):
        foretold = Foretold.UNKNOWN
    if foretold is not None:
        return foretold.value
    if row["result"] is None:
        return "to change" if dry else "differs"
    return "changed" if row["changes"] else AS_WANTED


def summary_lines(
    report: RunReport,
    palette: Palette = PLAIN,
    *,
    host: str = "local",
    timings: bool = True,
    percent: bool = False,
    foretold: Mapping[str, Foretold] | None = None,
) -> Iterator[str]:
    """Yield Salt's summary with its words and columns, then wall time, handled failures and unstarted states.

    ``foretold`` is the `forecast` of a dry run, if it was made.
    """
    results = [row["result"] for row in report.rows.values()]
    failed, differs = results.count(False), results.count(None)
    succeeded = len(results) - failed
    warnings = sum(bool(row.get("warnings")) for row in report.rows.values())
    warnings += len(report.warnings) + len(report.notices)
    width = _LABEL_WIDTH + max(len(str(number)) for number in (succeeded, failed, warnings))
    rule = palette.paint(palette.cyan, "-" * width)

    told = sum(each is not Foretold.UNKNOWN for each in (foretold or {}).values())
    yield palette.paint(palette.cyan, f"Summary for {host}")
    yield rule
    yield palette.paint(palette.green, _counted("Succeeded", succeeded, width)) + _share(
        palette,
        (("would change", report.changed if foretold is None else told, palette.yellow),)
        if report.test
        else (("unchanged", differs, palette.yellow), ("changed", report.changed, palette.green)),
    )
    yield palette.paint(palette.red if report.failed else palette.cyan, _counted("Failed", failed, width)) + _share(
        palette, (("handled", len(report.handled), palette.yellow),)
    )
    if percent and results:
        yield _counted("Success %", round(100 * succeeded / len(results), 2), width)
        yield _counted("Failure %", round(100 * failed / len(results), 2), width)
    if warnings:
        yield palette.paint(palette.red, _counted("Warnings", warnings, width))
    yield rule
    yield palette.paint(palette.cyan, f"Total states run: {len(results):>{width - 7}}")
    if timings:
        yield from (palette.paint(palette.cyan, line) for line in _times(report, width))
    yield from _beyond(report, palette, foretold)


def outcome_line(report: RunReport, palette: Palette = PLAIN, foretold: Mapping[str, Foretold] | None = None) -> str:
    """Return the outcomes of all states in one line: ``87 states in 13.0 s: 1 failed, 3 changed, 83 as wanted``.

    Handled failures are counted separately; the forecast, ``foretold``, is left to the last line of a dry run.
    """
    rows = report.rows.values()
    failed = [row for row in rows if row["result"] is False]
    held_back = sum(map(was_held_back, failed))
    differ = sum(row["result"] is None for row in rows)
    changed = sum(bool(row["changes"]) for row in rows if row["result"])
    warned = sum(bool(row.get("warnings")) for row in rows) + len(report.warnings) + len(report.notices)
    counted = (
        (len(failed) - held_back - len(report.handled), "failed", palette.red),
        (len(report.handled), "failed and handled", palette.yellow),
        (held_back, "held back", palette.red),
        (
            differ if foretold is None else 0,
            "would change" if report.test else "differs" if differ == 1 else "differ",
            palette.yellow,
        ),
        (changed, "changed", palette.cyan),
        (len(rows) - len(failed) - changed - max(differ, len(foretold or ())), AS_WANTED, palette.green),
        (len(report.not_started), "not started", palette.red),
        (warned, "warning" if warned == 1 else "warnings", palette.red),
    )
    told = ", ".join(palette.paint(colour, f"{number} {words}") for number, words, colour in counted if number > 0)
    gain = _gain(report)
    return f"{count(len(rows), 'state')} in {short_time(report.wall_ms / 1000)}{gain}{': ' if told else ''}{told}"


def closing_lines(
    report: RunReport, palette: Palette = PLAIN, foretold: Mapping[str, Foretold] | None = None
) -> Iterator[str]:
    """Yield the summary in one line, then further facts about the run."""
    yield outcome_line(report, palette, foretold)
    yield from _beyond(report, palette, foretold)


def _counted(label: str, number: float, width: int) -> str:
    return f"{label}: {number:>{width - len(label) - 2}}"


def _share(palette: Palette, parts: tuple[tuple[str, int, str], ...]) -> str:
    named = [palette.paint(colour, f"{name}={number}") for name, number, colour in parts if number]
    return f" ({', '.join(named)})" if named else ""


def _times(report: RunReport, width: int) -> Iterator[str]:
    """Yield the run time, which as in Salt is the sum of all durations, and the wall time."""
    busy, wall = short_time(report.busy_ms / 1000), short_time(report.wall_ms / 1000)
    width = max(width - 3, len(busy), len(wall))
    yield f"Total run time: {busy:>{width}}"
    yield f"Wall time:      {wall:>{width}}{_gain(report)}"


def _gain(report: RunReport) -> str:
    """Return the speed-up over a serial run as text, "" if it is small."""
    gain = report.busy_ms / report.wall_ms if report.wall_ms > 0 else 0.0
    worth_saying = report.concurrency > 1 and gain >= 1.1 and report.wall_ms >= _LONG_ENOUGH
    return f" ({gain:.1f}x, {report.concurrency} at once)" if worth_saying else ""


def _beyond(report: RunReport, palette: Palette, foretold: Mapping[str, Foretold] | None) -> Iterator[str]:
    if report.shuffle is not None:
        yield f"Order shuffled with seed {report.shuffle}: --shuffle {report.shuffle} repeats it."
    if report.cancelled:
        yield palette.paint(palette.red, cut_short(report))
    if report.not_started:
        yield palette.paint(palette.red, f"Not started: {count(len(report.not_started), 'state')}")
        for tag in report.not_started[:_LISTED]:
            yield f"    {describe_tag(tag)}"
        if len(report.not_started) > _LISTED:
            yield f"    … and {len(report.not_started) - _LISTED} more"
    if report.test:
        yield palette.paint(palette.yellow, f"Dry run: {foretold_text(report, foretold)}.")


def foretold_text(report: RunReport, foretold: Mapping[str, Foretold] | None) -> str:
    """Return the forecast of a dry run: ``3 to change, 2 triggered; nothing was changed``, or ``nothing to change``.

    A state that succeeds with changes in a dry run may not support dry runs: whether it made them is unknown.
    """
    if foretold is None:
        told = f"{count(report.changed, 'state')} would change" if report.changed else ""
    else:
        told = forecast_text(Counter(foretold.values()))
    if changed := sum(row["result"] is True and bool(row["changes"]) for row in report.rows.values()):
        says = "says it" if changed == 1 else "say they"
        return f"{told or 'nothing to change'}; {count(changed, 'state')} {says} changed something"
    return f"{told}; nothing was changed" if told else "nothing to change"


def cut_short(report: RunReport) -> str:
    """Return a sentence on when and why a run was cut short."""
    after = f"after {short_time(report.wall_ms / 1000)}{'' if report.not_started else ', when all had been started'}"
    match report.cancelled:
        case "SIGINT":
            return f"Interrupted {after}."
        case "SIGTERM":
            return f"Terminated {after}."
        case reason:
            return f"Cut short {after}: {reason}."


def describe_tag(tag: str) -> str:
    """Label a state for a list: ``file.managed: web_conf (/etc/web.conf)``; without the name if it equals the ID."""
    parts = tag.split("_|-")
    if len(parts) < 4:
        return one_line(tag)
    id_, name = parts[1], "_|-".join(parts[2:-1])
    shown = one_line(id_) if name == id_ else f"{one_line(id_)} ({one_line(name)})"
    return f"{parts[0]}.{parts[-1]}: {shown}"


_NAMED = 20


def applied_lines(rows: Mapping[str, Row], running: Iterable[str] = (), *, dry: bool = False) -> Iterator[str]:
    """Yield the progress of an aborted run: the states that changed something, and the running ones.

    For a ``dry`` run, the states that would change something.
    """
    changed = [tag for tag, row in rows.items() if (row["result"] is None if dry else row["changes"])]
    what = f"of which {len(changed)} would change something" if dry else f"{len(changed)} with changes"
    yield f"{count(len(rows), 'state')} had ended, {what}{':' if changed else '.'}"
    yield from (f"  {describe_tag(tag)}" for tag in changed[:_NAMED])
    if len(changed) > _NAMED:
        yield f"  … and {len(changed) - _NAMED} more"
    for tag in running:
        yield f"It was at {describe_tag(tag)}{'.' if dry else ': what that did is unknown.'}"


_LAST_LINES = 20
"""Lines of a failed command's output that are shown, from its end."""


def failure_text(row: Row) -> str:
    """Return the reason why a state failed: its comment, and the exit code and last output of its command."""
    text = str(row["comment"])
    changes = row["changes"]
    if "retcode" not in changes:
        return text
    written = str(changes.get("stderr") or changes.get("stdout") or "").rstrip("\n").split("\n")
    return "\n".join([text, f"exit code {changes['retcode']}", *written[-_LAST_LINES:]]).rstrip("\n")
