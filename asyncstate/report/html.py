"""A run as one HTML file that needs no network: counts, a Gantt chart with the critical path, every state's changes."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from asyncstate.report.human import result_word
from asyncstate.report.nested import nested_lines
from asyncstate.report.summary import describe_tag, summary_lines
from asyncstate.report.terminal import Palette, clean, short_time

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from asyncstate.model.result import Row, RunReport
    from asyncstate.report.profile import Profile, Timing

LANE = 22
"""The height of a lane."""
_TICKS = 8
_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #1f2933; }
pre { font: 12px/1.4 ui-monospace, monospace; white-space: pre-wrap; margin: .3em 0 .3em 1.5em; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 2em; }
svg { width: 100%; background: #f5f7fa; } svg text { font-size: 11px; fill: #52606d; }
details { border-left: 4px solid #cbd2d9; padding: .15em .6em; margin: .2em 0; }
summary { cursor: pointer; } .time { color: #7b8794; float: right; }
.Clean { border-color: #3f9142; } .Changed { border-color: #0a84a8; }
.Failed { border-color: #c52707; } .Differs { border-color: #c99a2e; }
rect.Clean { fill: #9ad29c; } rect.Changed { fill: #7cc4dc; }
rect.Failed { fill: #ef8a76; } rect.Differs { fill: #f0d28a; }
rect.critical { stroke: #1f2933; stroke-width: 2; }
.hosts { display: grid; grid-template-columns: max-content 1fr; gap: 2px 1em; align-items: center; }
.hosts .bad { color: #b42318; font-weight: bold; } table { border-collapse: collapse; }
td { padding: .1em 1em .1em 0; vertical-align: top; }
.add { color: #2f7d32; } .del { color: #b42318; } .at { color: #0a6f8f; }
"""
_DIFF = Palette(green="\x01add\x02", red="\x01del\x02", cyan="\x01at\x02", reset="\x03")
"""Marks for colours, made of characters that `clean` removes from all texts; `_block` turns them into elements."""


def html_report(report: RunReport, profile: Profile) -> str:
    """Return the HTML page. ``profile`` must have received every event of the run."""
    verdict = "succeeded" if report.ok else "failed"
    title = f"asyncstate: {'dry run' if report.test else 'run'} {verdict}"
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<pre>{escape(chr(10).join(summary_lines(report)))}</pre>",
        *_gantt(report, profile),
        "<h2>States</h2>",
        *(state_element(tag, row) for tag, row in report.rows.items()),
    ]
    return page(title, body)


def page(title: str, body: Iterable[str]) -> str:
    """Return a page with this title and these elements."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{chr(10).join(body)}\n</body></html>\n"
    )


def state_element(tag: str, row: Row) -> str:
    """Return a state with its comment and its changes; open if it failed."""
    word = result_word(row)
    duration = row.get("duration")
    took = short_time(duration / 1000) if isinstance(duration, (int, float)) else ""
    opened = " open" if word == "Failed" else ""
    changes = "\n".join(nested_lines(row["changes"], 4, _DIFF)) if row["changes"] else ""
    return (
        f'<details class="{word}"{opened}><summary><span class="time">{took}</span>{word}: '
        f"{escape(describe_tag(tag))} <small>({escape(str(row.get('__sls__') or ''))})</small></summary>"
        f"<pre>{escape(clean(str(row['comment'])))}</pre>{_block(changes)}</details>"
    )


def _block(text: str) -> str:
    if not text:
        return ""
    marked = escape(text).replace("\x01", '<span class="').replace("\x02", '">').replace("\x03", "</span>")
    return f"<pre>{marked}</pre>"


def _gantt(report: RunReport, profile: Profile) -> Iterator[str]:
    timings = sorted(profile.finished, key=lambda timing: timing.started)
    if not timings:
        return
    wall = max(profile.wall, 0.001, *(timing.ended for timing in timings))
    critical = {timing.tag for timing in profile.critical_path()}
    lanes = assign_lanes(timings)
    height = (max(lanes) + 1) * LANE + 20
    yield "<h2>When each state ran</h2>"
    outlined = "The state" if len(critical) == 1 else f"The {len(critical)} states"
    yield f"<p>{outlined} on the critical path {'is' if len(critical) == 1 else 'are'} outlined. "
    yield "Point at a bar to read its name.</p>"
    yield f'<svg viewBox="0 0 1000 {height}" preserveAspectRatio="none">'
    for tick in range(_TICKS):
        yield f'<text x="{1000 * tick / _TICKS:.0f}" y="{height - 5}">{short_time(wall * tick / _TICKS)}</text>'
    yield from bars(timings, report.rows, critical, wall)
    yield "</svg>"


def bars(
    timings: Sequence[Timing], rows: Mapping[str, Row], critical: Collection[str], wall: float, begin: float = 0.0
) -> Iterator[str]:
    """Yield a bar for each timing, in order of start, in a picture 1000 wide for ``wall`` seconds.

    ``begin`` is where their time begins in it; the states with the tags ``critical`` are outlined.
    """
    for timing, lane in zip(timings, assign_lanes(timings), strict=True):
        row = rows.get(timing.tag)
        kind = (result_word(row) if row else "Clean") + (" critical" if timing.tag in critical else "")
        waited = f", waited {short_time(timing.waited)} for a slot" if timing.waited >= 0.001 else ""
        label = escape(f"{describe_tag(timing.tag)}: {short_time(timing.seconds)}{waited}")
        left, width = 1000 * (begin + timing.started) / wall, max(1000 * timing.seconds / wall, 1.0)
        yield (
            f'<rect class="{kind}" x="{left:.2f}" y="{lane * LANE + 2}" width="{width:.2f}" height="{LANE - 4}">'
            f"<title>{label}</title></rect>"
        )


def assign_lanes(timings: Sequence[Timing]) -> list[int]:
    """Return the number of a lane for each timing, in order of start: the first one that is free."""
    free_at: list[float] = []
    lanes = []
    for timing in timings:
        lane = next((number for number, end in enumerate(free_at) if end <= timing.started), len(free_at))
        if lane == len(free_at):
            free_at.append(0.0)
        free_at[lane] = timing.ended
        lanes.append(lane)
    return lanes
