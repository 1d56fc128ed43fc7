"""Salt's ``highstate`` outputter, letter for letter: scripts and provisioners search its text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from pprint import pformat
from typing import TYPE_CHECKING, Any

from asyncstate.report.human import Style, result_word
from asyncstate.report.nested import nested_lines
from asyncstate.report.terminal import Palette, clean

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARGIN = " " * 14
_LIGHT_RED = Palette.colour("0;1;31")
_LOST = (
    "The State execution failed to record the order in which all states were executed. "
    "The state return missing data is:"
)
_COMPRESSED = re.compile(r"\((\d+)\)$")
_LABELS = {True: "Succeeded", False: "Failed", None: "Not Run", "warnings": "Warnings"}


def highstate(data: Any, opts: Mapping[str, Any], palette: Palette) -> str:
    """Return the rows of each host with their summary. ``data`` is by host; anything but rows is shown as it is."""
    style = Style.of(opts, palette)
    return "\n".join(_Host(style, bool(palette.reset)).text(host, value) for host, value in data.items())


class _Host:
    """The text of one host: its rows, and the numbers for its summary."""

    def __init__(self, style: Style, coloured: bool) -> None:
        self._style = style
        self._palette = style.palette
        self._light_red = _LIGHT_RED if coloured else ""
        self._worst = style.palette.green
        self._lines: list[str] = []
        self._counts: dict[Any, int] = {}
        self._changed = 0
        self._duration = 0.0
        self._beside = 0.0
        """The longest duration of a state with ``parallel``: Salt adds no other of them to the total."""

    def text(self, host: str, data: Any) -> str:
        """Return the text under the name of the host."""
        if isinstance(data, (int, str)):
            self._lines += [self._paint(self._worst, f"    {line}") for line in str(data).splitlines()]
            self._worst = self._palette.cyan
        elif isinstance(data, list):
            self._errors(data)
        elif isinstance(data, Mapping):
            self._rows(host, data)
        return "\n".join([self._paint(self._worst, f"{clean(host)}:"), *self._lines])

    def _paint(self, colour: str, text: str) -> str:
        return self._palette.paint(colour, text)

    def _errors(self, messages: list[Any]) -> None:
        self._worst = self._light_red
        self._lines.append("    " + self._paint(self._worst, "Data failed to compile:"))
        self._lines += [self._paint(self._worst, f"----------\n    {clean(str(each))}") for each in messages]

    def _rows(self, host: str, data: Mapping[str, Any]) -> None:
        lost = [row for tag, row in data.items() if _is_lost(tag, row)]
        for row in lost:
            self._lines += [_LOST, pformat(row)]
        rows = self._style.rows({tag: row for tag, row in data.items() if isinstance(row, dict) and "result" in row})
        for tag in sorted(rows, key=lambda each: rows[each].get("__run_num__", 0)):
            self._lines += self._row(tag.split("_|-"), rows[tag])
        self._lines += self._summary(host)

    def _row(self, parts: list[str], row: Mapping[str, Any]) -> Iterator[str]:
        result, changes = row["result"], row.get("changes")
        states = self._count(parts, row)
        changed = bool(changes)
        if changes:
            self._changed += (len(changes.get("compressed changes", {})) or 1) if states > 1 else 1
        style = self._style
        if result and not changed and (style.state_output_diff or not style.state_verbose):
            return
        colour = self._colour(result, changed=changed)
        if style.by_id:
            parts[2] = parts[1]
        shown = _amount(style, result, changed=changed)
        if shown == "terse":
            yield self._terse(parts, row, colour)
        elif shown == "full":
            yield from self._full(parts, row, colour)

    def _count(self, parts: list[str], row: Mapping[str, Any]) -> int:
        found = _COMPRESSED.search(parts[1]) if parts[2].startswith("state_compressed_") else None
        states = int(found[1]) if found else 1
        self._counts[row["result"]] = self._counts.get(row["result"], 0) + states
        duration = row.get("duration", 0)
        took = float(duration) if isinstance(duration, (int, float)) else 0.0
        if "__parallel__" in row:
            self._beside = max(self._beside, took)
        else:
            self._duration += took
        return states

    def _colour(self, result: Any, *, changed: bool) -> str:
        palette = self._palette
        if result is False:
            self._worst = palette.red
            return palette.red
        if result is None:
            self._worst = palette.yellow
            return palette.yellow
        return palette.cyan if changed else palette.green

    def _terse(self, parts: list[str], row: Mapping[str, Any], colour: str) -> str:
        style, reset = self._style, self._palette.reset
        timed = style.state_output_profile and "start_time" in row
        values = (colour, parts[2], parts[0], parts[-1], result_word(dict(row)), reset, row)
        warnings = "\n".join(map(str, row.get("warnings", ())))
        if isinstance(style.state_tabular, str):
            return style.state_tabular.format(*values)
        if style.state_tabular:
            before = f"{self._paint(self._light_red, f'Warnings:{chr(10)}{warnings}')}\n" if warnings else ""
            timing = f"{row.get('start_time')} [{row.get('duration')!s:>7} ms] " if timed else ""
            return f"{before}{colour}{timing}{parts[0]:>10}.{parts[-1]:<10} {values[4]:7}   Name: {parts[2]}{reset}"
        before = self._paint(self._light_red, f"Warnings:\n{warnings}") if warnings else ""
        timing = f" - Started: {row.get('start_time')} - Duration: {row.get('duration')} ms" if timed else ""
        return (
            f"{before} {colour} Name: {parts[2]} - Function: {parts[0]}.{parts[-1]} - Result: {values[4]}"
            f"{timing}{reset}"
        )

    def _full(self, parts: list[str], row: Mapping[str, Any], colour: str) -> Iterator[str]:
        facts = [("      ID", parts[1]), ("Function", f"{parts[0]}.{parts[-1]}")]
        if parts[1] != parts[2]:
            facts.append(("    Name", parts[2]))
        facts += [("  Result", str(row["result"])), (" Comment", _comment(row))]
        if self._style.state_output_profile and "start_time" in row:
            facts += [(" Started", str(row["start_time"])), ("Duration", f"{row.get('duration', '')} ms")]
        yield self._paint(colour, "----------")
        for label, value in facts:
            yield "    " + self._paint(colour, f"{label}: {value}")
        yield self._paint(colour, f"     Changes:   {self._changes(row.get('changes'))}")
        if "warnings" in row:
            self._counts["warnings"] = self._counts.get("warnings", 0) + 1
            text = "\n".join(map(str, row["warnings"]))
            filled = textwrap.fill(text, 80, initial_indent=_MARGIN, subsequent_indent=_MARGIN)
            yield "   " + self._paint(self._light_red, f" Warnings: {filled.lstrip()}")

    def _changes(self, changes: Any) -> str:
        if not changes:
            return ""
        if not isinstance(changes, Mapping):
            return f"Invalid Changes data: {changes}"
        if changes.get("out") == "highstate" and isinstance(changes.get("ret"), Mapping):
            inner = highstate(changes["ret"], self._options(), self._palette)
            return "\n" + textwrap.indent(inner, _MARGIN, lambda _line: True)
        return "\n" + "\n".join(nested_lines(changes, len(_MARGIN), self._palette)).rstrip()

    def _options(self) -> dict[str, Any]:
        style = self._style
        return {name: getattr(style, name) for name in ("state_output", "state_verbose", "state_output_profile")}

    def _summary(self, host: str) -> Iterator[str]:
        palette, counts = self._palette, self._counts
        wide = max(map(len, _LABELS.values())) + max((len(str(each)) for each in counts.values()), default=0) + 2
        done, failed = counts.get(True, 0) + counts.get(None, 0), counts.get(False, 0)
        unhappy = palette.red if failed else palette.cyan
        yield self._paint(palette.cyan, f"\nSummary for {host}\n{'-' * wide}")
        share = []
        if counts.get(None):
            share.append(self._paint(palette.yellow, f"unchanged={counts[None]}"))
        if self._changed:
            share.append(self._paint(palette.green, f"changed={self._changed}"))
        tail = f" ({', '.join(share)})" if share else ""
        yield self._paint(palette.green, _counted("Succeeded", done, wide)) + tail
        yield self._paint(unhappy, _counted("Failed", failed, wide))
        total = done + failed
        if self._style.state_output_pct and total:
            yield self._paint(palette.green, _counted("Success %", round(done / total * 100, 2), wide))
            yield self._paint(unhappy, _counted("Failure %", round(failed / total * 100, 2), wide))
        if counts.get("warnings"):
            yield self._paint(self._light_red, _counted("Warnings", counts["warnings"], wide))
        yield self._paint(palette.cyan, f"{'-' * wide}\nTotal states run: {total:>{wide - 7}}")
        if self._style.state_output_profile:
            total_ms = self._duration + self._beside
            value, unit = (total_ms / 1000, "s") if total_ms > 999 else (total_ms, "ms")
            yield self._paint(palette.cyan, f"Total run time: {f'{value:.3f}'.rjust(wide - 5)} {unit}")


def _is_lost(tag: str, row: Any) -> bool:
    return isinstance(row, dict) and bool(row) and tag != "changes" and "__run_num__" not in row


def _amount(style: Style, result: Any, *, changed: bool) -> str:
    """Return how much of a row is shown: full, terse or nothing."""
    match style.form:
        case "filter" if str(result) in style.terse:
            return "terse"
        case "filter" if str(result) in style.exclude:
            return "nothing"
        case "terse":
            return "terse"
        case "mixed" if result is not False:
            return "terse"
        case "changes" if result and not changed:
            return "terse"
    return "full"


def _comment(row: Mapping[str, Any]) -> str:
    comment = str(row.get("comment", "")).strip().replace("\n", "\n" + _MARGIN)
    match row.get("data"):
        case None:
            more = ""
        case list() as items:
            more = "".join(f" {item}" for item in items)
        case dict() as items:
            more = "".join(f"\n\t\t{key}: {value}" for key, value in items.items())
        case value:
            more = f" {value}"
    return clean(f"{comment}{more}") if not more.startswith("\n\t") else f"{clean(comment)}{more}"


def _counted(label: str, number: float, wide: int) -> str:
    return f"{label}: {number:>{wide - len(label) - 2}}"
