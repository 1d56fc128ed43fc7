"""A run across hosts as one HTML file that needs no network: what failed, a lane for each host, the critical path."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from asyncstate.report.html import LANE, assign_lanes, bars, page, state_element
from asyncstate.report.summary import describe_tag
from asyncstate.report.terminal import clean, count, short_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from asyncstate.errors import Issue
    from asyncstate.fleet.controller.tale import HostEnd
    from asyncstate.model.result import RunReport
    from asyncstate.report.fleet_profile import FleetProfile

_MOST = 5000
"""From so many states on, those that were already as described are counted only: a browser must open the page."""


def fleet_html_report(
    run: str,
    ends: Mapping[str, HostEnd],
    reports: Mapping[str, RunReport],
    profile: FleetProfile,
    issues: Sequence[Issue] = (),
) -> str:
    """Return the HTML page. ``profile`` must have received every event of the run; ``issues`` say why nothing began."""
    hosts = sorted({*ends, *reports}, key=lambda host: (not _failed(host, ends), host))
    failed = [host for host in hosts if _failed(host, ends)]
    title = f"asyncstate: run {run} {'failed' if failed or issues else 'succeeded'}"
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<pre>{escape(chr(10).join(_summary(hosts, failed, reports, profile)))}</pre>",
        *(f"<pre>{escape(clean(str(issue)))}</pre>" for issue in issues),
        *_failures(failed, ends, reports),
        *_lanes(hosts, failed, reports, profile),
        *_path(profile),
        *_states(hosts, reports),
    ]
    return page(title, body)


def _failed(host: str, ends: Mapping[str, HostEnd]) -> bool:
    return host in ends and bool(ends[host].exit_code)


def _summary(
    hosts: Sequence[str], failed: Sequence[str], reports: Mapping[str, RunReport], profile: FleetProfile
) -> Iterator[str]:
    rows = [row for report in reports.values() for row in report.rows.values()]
    bad = sum(row["result"] is False for row in rows)
    changed = sum(report.changed for report in reports.values())
    word = "would change" if any(report.test for report in reports.values()) else "changed"
    yield f"{count(len(hosts), 'host')}, {len(failed)} failed"
    yield f"{count(len(rows), 'state')}, {changed} {word}, {bad} failed"
    if profile.wall:
        on_path = sum(step.timing.seconds for step in profile.critical_path())
        yield f"{short_time(profile.wall)} wall time, {short_time(on_path)} of it in states on the critical path"


def _failures(failed: Sequence[str], ends: Mapping[str, HostEnd], reports: Mapping[str, RunReport]) -> Iterator[str]:
    if not failed:
        return
    yield "<h2>What failed</h2>"
    for host in failed:
        yield f"<h3>{escape(clean(host))}</h3>"
        if ends[host].why:
            yield f"<p>{escape(clean(ends[host].why))}</p>"
        rows = reports[host].rows.items() if host in reports else ()
        yield from (state_element(tag, row) for tag, row in rows if row["result"] is False)


def _lanes(
    hosts: Sequence[str], failed: Sequence[str], reports: Mapping[str, RunReport], profile: FleetProfile
) -> Iterator[str]:
    begins, path = profile.begins(), profile.critical_path()
    if not path:
        return
    wall = max(profile.wall, 0.001)
    yield "<h2>When each host ran what</h2>"
    yield f"<p>{short_time(wall)} from left to right; hosts that failed first. The states on the critical path are "
    yield 'outlined. Point at a bar to read its name.</p><div class="hosts">'
    for host in hosts:
        timings = sorted(profile.hosts[host].finished, key=lambda each: each.started) if host in begins else []
        critical = {step.timing.tag for step in path if step.host == host}
        height = (max(assign_lanes(timings), default=0) + 1) * LANE
        marked = ' class="bad"' if host in failed else ""
        yield f"<span{marked}>{escape(clean(host))}</span>"
        yield f'<svg viewBox="0 0 1000 {height}" height="{height}" preserveAspectRatio="none">'
        yield from bars(timings, reports[host].rows if host in reports else {}, critical, wall, begins.get(host, 0.0))
        yield "</svg>"
    yield "</div>"


def _path(profile: FleetProfile) -> Iterator[str]:
    path = profile.critical_path()
    if not path:
        return
    yield "<h2>Critical path</h2>"
    yield "<p>Each state waited last for the one before it. Only these can make the run shorter.</p><table>"
    for step in path:
        cells = (
            short_time(step.began),
            clean(step.host),
            describe_tag(step.timing.tag),
            short_time(step.timing.seconds),
        )
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
    yield "</table>"


def _states(hosts: Sequence[str], reports: Mapping[str, RunReport]) -> Iterator[str]:
    yield "<h2>States</h2>"
    many = sum(len(report.rows) for report in reports.values()) > _MOST
    for host in hosts:
        if host in reports:
            rows = reports[host].rows
            shown = {tag: row for tag, row in rows.items() if not many or row["changes"] or row["result"] is not True}
            yield f"<details><summary>{escape(clean(host))}: {count(len(rows), 'state')}</summary>"
            yield from (state_element(tag, row) for tag, row in shown.items())
            if len(shown) < len(rows):
                left_out = count(len(rows) - len(shown), "state")
                yield f"<p>{left_out} already as described, left out of this long page.</p>"
            yield "</details>"
