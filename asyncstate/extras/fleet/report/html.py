"""A run across hosts as one HTML file that needs no network: the page of a run, with a group of lanes for each host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate import extend
from asyncstate.report.summary import describe_tag
from asyncstate.report.terminal import clean, count, date_and_time, short_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from asyncstate.errors import Issue
    from asyncstate.extras.fleet.controller.event_stream import HostEnd
    from asyncstate.extras.fleet.protocol import HostPlan
    from asyncstate.extras.fleet.report.profile import FleetProfile
    from asyncstate.model.result import HostResult

Numbers = dict[str, dict[str, int]]
"""The numbers of states on the page, by host and tag."""

_MOST = 20_000
"""The number of states above which unchanged ones come without comments: a browser must open the page."""


def fleet_html_report(
    run: str,
    ends: Mapping[str, HostEnd],
    results: Sequence[HostResult],
    profile: FleetProfile,
    *,
    issues: Sequence[Issue] = (),
    plans: Mapping[str, HostPlan] | None = None,
) -> str:
    """Return the HTML page. ``profile`` must have received every event of the run; ``issues`` say why nothing began.

    ``plans`` are the known plans of hosts. For a host without one, the graph has only the last wait of each state.

    Hosts that failed come first, each with its reason as a state of its own if its report does not have it.
    """
    by_host = {result.host: result for result in results}
    hosts = sorted({*ends, *by_host}, key=lambda host: (not _failed(host, ends), host))
    failed = [number for number, host in enumerate(hosts) if _failed(host, ends)]
    data: Any = extend.provided("pictures", "--report").blank_page(map(clean, hosts), failed, profile.wall)
    numbers = {host: data.add(by_host[host], number) for number, host in enumerate(hosts) if host in by_host}
    place_hosts(data, numbers, profile)
    _shorten(data)
    _join(data, numbers, profile, plans or {})
    dry = any(result.report.test for result in results)
    title = f"{'dry run' if dry else 'run'} across {count(len(hosts), 'host')}"
    page: str = data.html(
        title,
        ok=not data.failed_hosts and not issues,
        facts=_facts(run, data, profile, dry=dry),
        notes=[*map(str, issues), *_notes(results)],
    )
    return page


def _failed(host: str, ends: Mapping[str, HostEnd]) -> bool:
    return host in ends and bool(ends[host].exit_code)


def place_hosts(data: Any, numbers: Numbers, profile: FleetProfile) -> None:
    """Give the states of all hosts their times on the common time line, and mark the critical path."""
    begins = profile.begins()
    for host, of_host in numbers.items():
        if host in begins:
            data.place_bars(of_host, profile.hosts[host].finished, begins[host])
    for step in profile.critical_path():
        number = numbers.get(step.host, {}).get(step.tag)
        if number is not None:
            data.states[number].critical = True


def _shorten(data: Any) -> None:
    if len(data.states) > _MOST:
        for state in data.states:
            if state.kind == "unchanged" and state.comment:
                state.comment = "(left out of this long page)"


def _join(data: Any, numbers: Numbers, profile: FleetProfile, plans: Mapping[str, HostPlan]) -> None:
    """Add the graph to the page: the plan of each host, and the releases of states by other hosts."""
    data.join(_edges(data, numbers, profile, plans if len(data.states) <= _MOST else {}))


def _edges(
    data: Any, numbers: Numbers, profile: FleetProfile, drawn: Mapping[str, HostPlan]
) -> Iterator[tuple[int, int, Sequence[str], Sequence[str], bool]]:
    for host, plan in drawn.items():
        node_of = list(_nodes(data, numbers, host, plan))
        for before, after, sources in plan.each_edge():
            yield node_of[before], node_of[after], sources, (), False
    known = {number for number, host in enumerate(data.hosts) if host in drawn}
    for number, by, because, resources in _releases(numbers, profile):
        across = data.states[number].host != data.states[by].host
        if across or data.states[number].host not in known:
            yield by, number, because, resources, across


def _nodes(data: Any, numbers: Numbers, host: str, plan: HostPlan) -> Iterator[int]:
    """Yield the number on the page of each node of a host's plan. Sets, stages and groups have no description."""
    checks = {node: chunk for chunk, node in plan.checks}
    for node in range(plan.nodes):
        chunk = checks.get(node, node)
        state = plan.states[chunk] if chunk < len(plan.states) else None
        tag = state.tag if state is not None else ""
        number = numbers.get(host, {}).get(tag, -1) if node == chunk else -1
        if number < 0:
            number = len(data.states) + len(data.joints)
            name = describe_tag(tag) if state is not None else "all of"
            data.joints.append(clean(f"{host}: {'check ' if node != chunk else ''}{name}"))
        yield number


def _releases(numbers: Numbers, profile: FleetProfile) -> Iterator[tuple[int, int, Sequence[str], Sequence[str]]]:
    """Yield for each state that waited its number, that of the last one awaited, and the sources and resources."""
    for host, own in profile.hosts.items():
        for timing in own.finished:
            before = profile.released_by(host, timing.after)
            number = numbers.get(host, {}).get(timing.tag)
            by = numbers.get(before.host, {}).get(before.tag) if before is not None else None
            if number is not None and by is not None:
                yield number, by, timing.because, timing.resources


def _facts(run: str, data: Any, profile: FleetProfile, *, dry: bool) -> Iterator[tuple[str, str]]:
    yield "Hosts", f"{len(data.hosts)}, {len(data.failed_hosts)} failed"
    if began := [each.began_at for each in profile.hosts.values() if each.began_at]:
        yield "Date", date_and_time(min(began), zone=True)
    yield "SLS", data.sls()
    if dry:
        yield "Dry run", "nothing was changed"
    if profile.wall:
        on_path = sum(step.seconds for step in profile.critical_path())
        yield "Took", f"{short_time(profile.wall)}, {short_time(on_path)} of it in states on the critical path"
    yield "Run", run


def _notes(results: Sequence[HostResult]) -> Iterator[str]:
    for result in results:
        yield from (f"{result.host}: {text}" for text in (*map(str, result.report.warnings), *result.report.notices))
