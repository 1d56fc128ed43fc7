"""The report of a run with one aligned line per state, a summary of its changes. Failures are shown in full."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.model.forecast import Foretold
from asyncstate.model.result import STATE_RAN, was_held_back
from asyncstate.report.columns import cells, cut, cut_within, padded, wrapped
from asyncstate.report.human import changes_lines, comment_text, culprit_lines, row_colour, row_parts, worst_colour
from asyncstate.report.nested import diff_lines, diff_size, diffs_in, is_diff
from asyncstate.report.summary import closing_lines, outcome_word
from asyncstate.report.terminal import Palette, clean, count, one_line, short_time
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from asyncstate.model.result import Row, RunReport
    from asyncstate.report.human import Style

_MARGIN = "    "
_WIDEST_FUNCTION = 28
_WIDEST_LABEL = 60
_NARROWEST = 10
"""Smallest width of the columns for names and changes."""
_ROOMY = 80
"""On a narrower terminal, durations give way to names and changes."""
_LONG_REPORT = 25
"""With more lines than this, a report may not fit on a screen, so it repeats the failed states at the end."""
_LONGEST_VALUE = 60
_NAMED = 3
"""Number of changes of a state that are named; the others are counted."""
_OF_A_COMMAND = {"pid", "retcode", "stdout", "stderr"}
_UNSEEN = "depends on changes that a dry run cannot see"
_PHRASES = {"New file": "new file", "newfile": "new file"}
"""Plain wording of changes that states of files return."""


class _Line(Value):
    """The cells of one state. ``details`` are lines below it, of a failure or a warning.

    With ``reason``, the text explains why a state was held back and is never cut. ``named`` is the part of the label
    that is never cut: the ID of a failed state.
    """

    word: str
    took: str
    function: str
    label: str
    text: str
    colour: str
    details: tuple[str, ...]
    reason: bool = False
    named: str = ""

    def with_reason_below(self, width: int) -> _Line:
        """Return the line with its text below it."""
        below = (_MARGIN + each for each in wrapped(self.text, max(width - len(_MARGIN), 1)))
        return self.replaced(text="", details=(*below, *self.details), reason=False)


def brief_lines(
    report: RunReport, style: Style, host: str = "", foretold: Mapping[str, Foretold] | None = None
) -> Iterator[str]:
    """Yield the whole report: the name of the ``host`` if given, the rows in ``__run_num__`` order, the summary.

    Lines are cut to ``style.width`` columns, 0 for none, but those below a failed state, its ID, and why a state was
    held back. Unchanged states are only counted, unless ``style.state_verbose`` is set or there is only one.
    ``foretold`` is the `forecast` of a dry run.
    """
    lines = list(state_lines(report, style, foretold))
    first, *more = closing_lines(report, style.palette, foretold)
    heading = style.palette.paint(worst_colour(report, style.palette), f"{host}:") if host else ""
    if lines:
        if host:
            yield heading
        yield from lines
        yield ""
        if len(lines) > _LONG_REPORT:
            yield from culprit_lines(report, style)
        yield first
    else:
        yield f"{heading} {first}".lstrip()
    yield from more


def state_lines(report: RunReport, style: Style, foretold: Mapping[str, Foretold] | None = None) -> Iterator[str]:
    """Yield the lines of the states alone, as `brief_lines` does."""
    rows = style.rows(report.rows)
    verbose = (style.state_verbose or len(rows) == 1) and not style.state_output_diff
    told = foretold or {}
    lines = [
        _line(tag, row, style, told.get(tag), dry=report.test)
        for tag, row in rows.items()
        if verbose or row["result"] is not True or row["changes"] or row.get("warnings") or tag in told
    ]
    columns = _columns(lines, style.width)
    while style.width and any(line.reason and not columns.fit(line, style.width) for line in lines):
        lines = [
            line.with_reason_below(style.width) if line.reason and not columns.fit(line, style.width) else line
            for line in lines
        ]
        columns = _columns(lines, style.width)  # which are others now: this text needs no room
    for line in lines:
        yield style.palette.paint(line.colour, f"{line.word:<{columns.word}}  ") + columns.rest(line, style.width)
        yield from line.details


class _Columns(Value):
    """The width of each column; a column of width 0 is left out."""

    word: int
    took: int
    function: int
    label: int

    def fit(self, line: _Line, width: int) -> bool:
        """Whether the text of a line fits into ``width`` columns."""
        before = self.word + self.label + 4 + sum(each + 2 for each in (self.took, self.function) if each)
        return before + cells(line.text) <= width

    def rest(self, line: _Line, width: int) -> str:
        """Return the line after its first word, cut so that the whole fits into ``width`` columns; 0: not cut.

        Only the ID of a failed state may make it longer.
        """
        shown = []
        if self.took:
            shown.append(f"{line.took:>{self.took}}")
        if self.function:
            shown.append(padded(cut(line.function, self.function) if width else line.function, self.function))
        label = cut_within(line.label, self.label) if width and line.text else line.label
        rest = "  ".join([*shown, padded(label, self.label), line.text]).rstrip()
        if not width:
            return rest
        least = cells("  ".join([*shown, line.named])) if line.named else 1
        more = len(" (…") if line.named != line.label else 0
        return cut(rest, max(width - self.word - 2, least + more))


def _columns(lines: Sequence[_Line], width: int) -> _Columns:
    """Return the columns for these lines; a narrow terminal keeps room for names and changes."""
    short = [(line.word, line.took, line.function) for line in lines]
    word, took, function = (max((len(each[place]) for each in short), default=0) for place in range(3))
    label, text = (max((cells(each) for each in column), default=0) for column in _names_and_texts(lines))
    if not width:
        return _Columns(word, took, min(function, _WIDEST_FUNCTION), min(label, _WIDEST_LABEL))
    function = min(function, max(width // 4, _NARROWEST))
    needed = word + took + function + label + text + 3 * 2
    if (width < _ROOMY and needed > width) or width - word - took - function < 3 * _NARROWEST:
        took = 0
    if width - word - function < 3 * _NARROWEST:
        function = 0
    room = width - word - 2 - sum(each + 2 for each in (took, function) if each)
    spared = max(room - text - 2, 3 * room // 5, _NARROWEST)
    return _Columns(word, took, function, min(label, spared if text else room))


def _names_and_texts(lines: Iterable[_Line]) -> tuple[list[str], list[str]]:
    return [line.label for line in lines if line.text], [line.text for line in lines]


def _line(tag: str, row: Row, style: Style, foretold: Foretold | None, *, dry: bool) -> _Line:
    palette = style.palette
    parts = row_parts(tag, row)
    id_, name = one_line(parts.id).replace("\t", " "), one_line(parts.name).replace("\t", " ")
    took = row.get("duration")
    called = bool(row.get(STATE_RAN, True))
    timed = called and style.state_output_profile
    whole = row["result"] is False and called
    if foretold is Foretold.UNKNOWN and row["result"] is True:
        text = _UNSEEN
    elif whole:
        text = ""
    else:
        text = style.held.get(tag) or _summed_up(row, name).replace("\t", " ")
    return _Line(
        outcome_word(row, foretold, dry=dry),
        short_time(took / 1000) if isinstance(took, (int, float)) and timed else "",
        one_line(f"{parts.state}.{parts.fun}".strip(".")),
        id_ if style.by_id or name == id_ else f"{id_} ({name})",
        text,
        row_colour(row, palette) if foretold is None else palette.yellow,
        (*(_failure(tag, row, style) if whole else _diffs(row, name, style)), *_warnings(row, palette)),
        reason=was_held_back(row),
        named=id_ if whole else "",
    )


def _diffs(row: Row, name: str, style: Style) -> Iterator[str]:
    """Yield the diffs of a row, each cut to ``style.diff_lines``, with the file unless it is the state's own."""
    if not style.diffs:
        return
    for file, diff in diffs_in(row["changes"], name):
        if file != name:
            yield style.palette.paint(style.palette.bold, _MARGIN + one_line(file, _LONGEST_VALUE))
        lines = list(diff_lines(diff.split("\n", 2)[2], style.palette))  # the first two name the file
        shown = lines[: style.diff_lines] if style.diff_lines else lines
        yield from (_MARGIN + line for line in shown)
        if len(lines) > len(shown):
            yield style.palette.paint(style.palette.dim, f"{_MARGIN}… {len(lines) - len(shown)} more lines")


def _failure(tag: str, row: Row, style: Style) -> Iterator[str]:
    palette = style.palette
    for line in clean(comment_text(row)).splitlines():
        yield palette.paint(palette.red, _MARGIN + line)
    if _is_of_a_command(row["changes"]):
        yield from _command_lines(row["changes"])
    elif row["changes"]:
        nested = msgspec.structs.replace(style, state_output="mixed", state_verbose=False)
        yield from changes_lines(row["changes"], nested, _MARGIN)
    if tag in style.places:
        yield palette.paint(palette.dim, f"{_MARGIN}at {style.places[tag]}")


def _command_lines(changes: Mapping[str, Any]) -> Iterator[str]:
    """Yield the exit code of a command and all of its output."""
    yield f"{_MARGIN}exit code {changes['retcode']}"
    for name in ("stdout", "stderr"):
        if printed := clean(str(changes.get(name) or "")).strip("\n"):
            yield f"{_MARGIN}{name}:"
            yield from (f"{_MARGIN}  {line}" for line in printed.splitlines())


def _warnings(row: Row, palette: Palette) -> Iterator[str]:
    for warning in row.get("warnings") or ():
        first, *rest = clean(str(warning)).splitlines() or [""]
        yield palette.paint(palette.red, f"{_MARGIN}Warning: {first}")
        yield from (palette.paint(palette.red, _MARGIN + line) for line in rest)


def _summed_up(row: Row, name: str) -> str:
    """Return the changes of a row in short; its comment if that is empty."""
    return short_changes(row["changes"], name) or one_line(" ".join(comment_text(row).split()), 1000)


def short_changes(changes: Any, name: str = "") -> str:
    """Return changes in a line: ``+3 -1, mode 0600``, ``nginx 1.18 → 1.22``, ``exit 0: done``; "" if there are none.

    ``name`` is the name of the state, which is left out where it is a key of the changes.
    """
    if not isinstance(changes, Mapping) or not changes:
        return ""
    if isinstance(hosts := changes.get("ret"), Mapping) and changes.get("out") == "highstate":
        return _of_hosts(hosts)
    if _is_of_a_command(changes):
        return _of_a_command(changes)
    if changes.keys() == {"old", "new"}:
        return _step(changes["old"], changes["new"])
    if changes.keys() == {"cmd"}:  # the changes of a command in a dry run
        return "would run"
    parts = [part for key, value in changes.items() if (part := _change(str(key), value, name))]
    more = len(parts) - _NAMED
    return ", ".join(parts[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _of_hosts(hosts: Mapping[str, Any]) -> str:
    """Return the numbers of hosts and of outcomes in the changes of a ``salt.state``: the rows of other hosts."""
    rows = [row for each in hosts.values() if isinstance(each, Mapping) for row in each.values()]
    known = [row for row in rows if isinstance(row, Mapping)]
    counted = {
        "failed": sum(row.get("result") is False for row in known),
        "would change": sum(row.get("result") is None for row in known),
        "changed": sum(bool(row.get("result") and row.get("changes")) for row in known),
    }
    told = [count(len(hosts), "host"), *(f"{number} {word}" for word, number in counted.items() if number)]
    return ", ".join(told)


def _is_of_a_command(changes: Any) -> bool:
    return isinstance(changes, Mapping) and "retcode" in changes and changes.keys() <= _OF_A_COMMAND


def _of_a_command(changes: Mapping[str, Any]) -> str:
    printed = str(changes.get("stdout") or changes.get("stderr") or "").strip()
    return f"exit {changes['retcode']}" + (f": {one_line(printed, _LONGEST_VALUE)}" if printed else "")


def _change(key: str, value: Any, name: str) -> str:
    if key in _PHRASES:
        return _PHRASES[key]
    shown = "" if key in (name, "diff") else one_line(key, _LONGEST_VALUE)
    if value == "new" and shown:
        return f"new {shown}"
    if isinstance(value, str) and is_diff(value):
        return _joined(shown, diff_size(value))
    if isinstance(value, Mapping):
        return _joined(shown, short_changes(value, name))
    return shown if value is True and shown else _joined(shown, _value(value))


def _joined(key: str, text: str) -> str:
    return f"{key} {text}".strip()


def _step(old: Any, new: Any) -> str:
    before, after = _value(old), _value(new)
    if not before:
        return f"{after} (new)"
    return f"{before} → {after}" if after else f"gone (was {before})"


def _value(value: Any) -> str:
    if value is None or isinstance(value, str):
        return _PHRASES.get(value or "") or one_line(value or "", _LONGEST_VALUE)
    if isinstance(value, Mapping):
        return _listed(f"{key} {_value(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return _listed(map(_value, value))
    return one_line(str(value), _LONGEST_VALUE)


def _listed(parts: Iterable[str]) -> str:
    known = list(parts)
    more = len(known) - _NAMED
    return one_line(", ".join(known[:_NAMED]) + (f" and {more} more" if more > 0 else ""), _LONGEST_VALUE)
