"""The report of a run for people, in the form of Salt's ``highstate`` outputter."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.model.chunk import TagParts, parse_tag
from asyncstate.model.result import was_held_back
from asyncstate.report.summary import describe_tag, summary_lines
from asyncstate.report.terminal import PLAIN, Palette, clean, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.model.forecast import Foretold
    from asyncstate.model.result import Row, RunReport

_DETAIL = " " * 14
_OF_A_ROW = {"name", "result", "changes", "comment"}
DEFAULT_FORM = "full"
BRIEF = "brief"
"""The form made by `asyncstate.report.brief`."""
_LONG_REPORT = 10
"""With more states than this, a report may not fit on a screen, so it repeats the failed ones at the end."""
_NAMED = 20
FORMS = ("full", "terse", "mixed", "changes", "filter", BRIEF)
"""The values of ``state_output``; each may end in ``_id``, which shows the ID in place of the name."""


class Style(msgspec.Struct, frozen=True, kw_only=True):
    """The format of rows. The fields are Salt's ``state_*`` options of the same name.

    ``exclude`` and ``terse`` are the results ("True", "False", "None") that ``filter`` leaves out or shows on one line.
    ``state_tabular`` may be a format string: ``{1}`` is the name, ``{2}`` and ``{3}`` are module and function, ``{4}``
    the result, ``{6}`` the row. ``places`` maps tags to the file and line of a state, shown if it failed; ``held`` maps
    them to the reason why it was held back (`asyncstate.report.blockers`). ``diffs``: whether diffs of files are shown;
    None means none in ``brief`` and all in other forms. ``brief`` cuts each to ``diff_lines``, if given.
    """

    state_output: str = DEFAULT_FORM
    state_verbose: bool = True
    state_tabular: bool | str = False
    state_compress_ids: bool = False
    state_output_diff: bool = False
    state_output_profile: bool = True
    state_output_pct: bool = False
    exclude: tuple[str, ...] = ()
    terse: tuple[str, ...] = ()
    palette: Palette = PLAIN
    width: int = 80
    places: Mapping[str, str] = {}
    held: Mapping[str, str] = {}
    diffs: bool | None = None
    diff_lines: int = 0

    @property
    def form(self) -> str:
        """``state_output`` without ``_id``."""
        return self.state_output.removesuffix("_id")

    @property
    def by_id(self) -> bool:
        """Whether the ID is shown in place of the name."""
        return self.state_output.endswith("_id")

    @classmethod
    def of(cls, options: Mapping[str, Any], palette: Palette = PLAIN, **more: Any) -> Style:
        """Read Salt's display options (``state_output``, ``state_output_exclude`` …) from a settings mapping."""
        form = str(options.get("state_output") or DEFAULT_FORM).lower()
        return cls(
            state_output=form if form.removesuffix("_id") in FORMS else DEFAULT_FORM,
            state_verbose=bool(options.get("state_verbose", True)),
            state_tabular=_tabular(options.get("state_tabular")),
            state_compress_ids=bool(options.get("state_compress_ids", False)),
            state_output_diff=bool(options.get("state_output_diff", False)),
            state_output_profile=bool(options.get("state_output_profile", True)),
            state_output_pct=bool(options.get("state_output_pct", False)),
            exclude=_results(options.get("state_output_exclude")),
            terse=_results(options.get("state_output_terse")),
            palette=palette,
            **more,
        )

    def rows(self, rows: Mapping[str, Row]) -> Mapping[str, Row]:
        """Return the rows to show: with ``state_compress_ids``, those of one ID joined."""
        if not self.state_compress_ids:
            return rows
        from asyncstate.report.compress import compress_ids  # noqa: PLC0415 - as asked for

        return compress_ids(rows)


def _tabular(value: Any) -> bool | str:
    return value if isinstance(value, str) else bool(value)


def _results(value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value or ()
    return tuple(str(part).strip().capitalize() for part in parts if str(part).strip())


def report_lines(
    report: RunReport, style: Style, host: str = "local", foretold: Mapping[str, Foretold] | None = None
) -> Iterator[str]:
    """Yield the whole report: a line for the host, the rows in ``__run_num__`` order, the summary.

    ``foretold`` is the `forecast` of a dry run, if it was made.
    """
    yield style.palette.paint(worst_colour(report, style.palette), f"{host}:")
    for tag, row in style.rows(report.rows).items():
        yield from row_lines(tag, row, style)
    yield ""
    if len(report.rows) > _LONG_REPORT:
        yield from culprit_lines(report, style)
    yield from summary_lines(
        report,
        style.palette,
        host=host,
        timings=style.state_output_profile,
        percent=style.state_output_pct,
        foretold=foretold,
    )


def culprit_lines(report: RunReport, style: Style) -> Iterator[str]:
    """Yield, for the end of a long report, the list of failed states, then the list of states held back."""
    held = [tag for tag in report.failed if was_held_back(report.rows[tag])]
    ran = [tag for tag in report.failed if not was_held_back(report.rows[tag])]
    if not ran:
        return
    places = {tag: f"at {place}" for tag, place in style.places.items()}
    yield from _named_states("Failed:", ran, places, style.palette)
    yield from _named_states("Held back:", held, style.held, style.palette)
    yield ""


def _named_states(title: str, tags: Sequence[str], said: Mapping[str, str], palette: Palette) -> Iterator[str]:
    """Yield the first states of a list, each with its text in ``said``, and the number of the others."""
    if tags:
        yield palette.paint(palette.red, title)
    for tag in tags[:_NAMED]:
        words = f"  {said[tag]}" if tag in said else ""
        yield palette.paint(palette.red, f"    {describe_tag(tag)}") + palette.paint(palette.dim, words)
    if len(tags) > _NAMED:
        yield f"    … and {len(tags) - _NAMED} more"


def worst_colour(report: RunReport, palette: Palette) -> str:
    """Return the colour of the worst row."""
    if not report.ok:
        return palette.red
    if any(row["result"] is None for row in report.rows.values()):
        return palette.yellow
    return palette.cyan if any(row["changes"] for row in report.rows.values()) else palette.green


def row_lines(tag: str, row: Row, style: Style) -> Iterator[str]:
    """Yield the lines of one state: none, one or many, depending on the style."""
    shown = _shown(row, style)
    if shown == "no":
        return
    parts = row_parts(tag, row)
    if shown == "terse":
        yield from _terse(parts, row, style)
    else:
        yield from _full(tag, parts, row, style)


def row_parts(tag: str, row: Row) -> TagParts:
    """Parse the tag. A plugin may return a row under any key; one that is no tag becomes the ID."""
    try:
        return parse_tag(tag)
    except ValueError:
        return TagParts("", tag, str(row.get("name", tag)), "")


def _shown(row: Row, style: Style) -> str:
    result, changed = row["result"], bool(row["changes"])
    if result and not changed and (style.state_output_diff or not style.state_verbose):
        return "no"
    match style.form:
        case "filter":
            if str(result) in style.terse:
                return "terse"
            return "no" if str(result) in style.exclude else "full"
        case "terse":
            return "terse"
        case "mixed":
            return "full" if result is False else "terse"
        case "changes":
            return "terse" if result and not changed else "full"
    return "full"


def row_colour(row: Row, palette: Palette) -> str:
    """Return the colour of a row."""
    if row["result"] is False:
        return palette.red
    if row["result"] is None:
        return palette.yellow
    return palette.cyan if row["changes"] else palette.green


def result_word(row: Row) -> str:
    """Return Salt's word for a row's outcome: Clean, Changed, Failed or Differs."""
    if row["result"] is False:
        return "Failed"
    if row["result"] is None:
        return "Differs"
    return "Changed" if row["changes"] else "Clean"


def _terse(parts: TagParts, row: Row, style: Style) -> Iterator[str]:
    palette = style.palette
    for warning in row.get("warnings") or ():
        yield palette.paint(palette.red, f"  Warning: {clean(str(warning))}")
    label = one_line(parts.id if style.by_id else parts.name, longest=1000)
    function = f"{parts.state}.{parts.fun}"
    started, duration = row.get("start_time", ""), _duration(row)
    if isinstance(style.state_tabular, str):
        values = ("", label, parts.state, parts.fun, result_word(row), "", row)
        text = _formatted(style.state_tabular, values)
    elif style.state_tabular:
        timing = f"{started} [{duration:>10}] " if style.state_output_profile and started else ""
        text = f"{timing}{parts.state:>10}.{parts.fun:<10} {result_word(row):7}   Name: {label}"
    else:
        timing = f" - Started: {started} - Duration: {duration}" if style.state_output_profile and started else ""
        text = f"  Name: {label} - Function: {function} - Result: {result_word(row)}{timing}"
    yield palette.paint(row_colour(row, palette), text)


def _formatted(layout: str, values: tuple[Any, ...]) -> str:
    """Format the operator's ``state_tabular``. An invalid format is shown as it is, with the error."""
    try:
        return clean(layout.format(*values))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as exc:
        return f"{clean(layout)}  (state_tabular: {exc})"


def _full(tag: str, parts: TagParts, row: Row, style: Style) -> Iterator[str]:
    palette, colour = style.palette, row_colour(row, style.palette)
    name = parts.id if style.by_id else parts.name
    facts = [("ID", parts.id), ("Function", f"{parts.state}.{parts.fun}")]
    if name != parts.id:
        facts.append(("Name", name))
    facts += [("Result", str(row["result"])), ("Comment", comment_text(row))]
    if row["result"] is False and tag in style.places:
        facts.append(("Source", style.places[tag]))
    if style.state_output_profile and row.get("start_time"):
        facts += [("Started", str(row["start_time"])), ("Duration", _duration(row))]
    yield palette.paint(colour, "----------")
    for key, value in facts:
        first, *rest = clean(value).splitlines() or [""]
        yield palette.paint(colour, f"    {key:>8}: {first}".rstrip())
        yield from (palette.paint(colour, _DETAIL + line) for line in rest)
    yield palette.paint(colour, "     Changes:")
    if row["changes"]:
        yield from changes_lines(row["changes"], style, _DETAIL)
    yield from _warnings(row, style)


def changes_lines(changes: Any, style: Style, margin: str) -> Iterator[str]:
    """Yield the changes of a row after ``margin``; in changes of ``salt.state``, the rows of other hosts as rows."""
    from asyncstate.report.nested import nested_lines, without_diffs  # noqa: PLC0415 - most runs change nothing

    hosts = changes.get("ret") if isinstance(changes, dict) and changes.get("out") == "highstate" else None
    if not isinstance(hosts, dict):
        shown = without_diffs(changes) if style.diffs is False else changes
        yield from nested_lines(shown, len(margin), style.palette)
        return
    for host, rows in hosts.items():
        yield margin + style.palette.paint(style.palette.cyan, f"{clean(str(host))}:")
        if isinstance(rows, dict) and all(isinstance(row, dict) and row.keys() >= _OF_A_ROW for row in rows.values()):
            for tag, row in rows.items():
                yield from (margin + line for line in row_lines(tag, row, style))
        else:
            yield from nested_lines(rows, len(margin) + 4, style.palette)


def comment_text(row: Row) -> str:
    """Join the comment with the key ``data``, in which some states return the output of an execution function."""
    comment = row["comment"]
    text = "\n".join(map(str, comment)) if isinstance(comment, (list, tuple)) else str(comment)
    match row.get("data"):
        case None:
            more: list[str] = []
        case dict() as data:
            more = [f"{key}: {value}" for key, value in data.items()]
        case list() as data:
            more = [str(item) for item in data]
        case data:
            more = [str(data)]
    return "\n".join([text.strip(), *more])


def _warnings(row: Row, style: Style) -> Iterator[str]:
    palette = style.palette
    label = "    Warnings: "
    for warning in row.get("warnings") or ():
        wrapped = textwrap.wrap(clean(str(warning)), max(40, style.width - len(_DETAIL))) or [""]
        for line in wrapped:
            yield palette.paint(palette.red, label + line)
            label = _DETAIL


def _duration(row: Row) -> str:
    value = row.get("duration", "")
    return f"{value} ms" if isinstance(value, (int, float)) else str(value)
