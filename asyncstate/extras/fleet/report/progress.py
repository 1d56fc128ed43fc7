"""Shows the progress of a run across hosts: a live display on a terminal, or a plain line for each host that ended."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, TextIO

from asyncstate.extras.fleet.controller.event_stream import Observer, failed_state
from asyncstate.extras.fleet.report.blockers import needs_of
from asyncstate.model.chunk import parse_tag
from asyncstate.report.progress import LiveDisplay, RunTally
from asyncstate.report.summary import describe_tag
from asyncstate.report.terminal import count, one_line, short_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rich.console import Group

    from asyncstate.extras.fleet.controller.event_stream import HostEnd
    from asyncstate.extras.fleet.protocol import Go, HostPlan
    from asyncstate.model.event import AnyEvent
    from asyncstate.report.blockers import Needs

_SHOWN = 10
"""The number of hosts with a line each."""
_NAMED = 5
"""The number of hosts waiting for the same state that are named."""
_PATIENCE = 1.0
"""Seconds that a host waits for others before a line reports it."""

_Node = tuple[str, str, bool]
"""A state of the fleet: its host, its tag, and whether its test-mode call is meant."""


class HostTally(RunTally):
    """The progress of one host's part."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.end: HostEnd | None = None
        self.lost: bool = False


class Tally(Observer):
    """The progress of a run across hosts, from its event stream."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.hosts: dict[str, HostTally] = {}
        self._clock = clock
        self._joined = False
        self._ended: dict[str, set[_Node]] = {}
        self._waits: dict[str, deque[tuple[_Node, _Node]]] = {}

    def planned(self, host: str, plan: HostPlan) -> None:
        """Note the number of a host's states."""
        self._of(host).total = len(plan.states)

    def joined(self, plans: Mapping[str, HostPlan], goes: Mapping[str, Go]) -> None:
        """Note which states wait for which states of other hosts."""
        self._joined = True
        for host, go in goes.items():
            self._of(host)
            plan = plans.get(host)
            if plan is None or plan.digest != go.digest:
                continue  # the host has sent another plan since
            self._waits[host] = deque(
                ((host, plan.states[wait.chunk].tag, False), (each.host, each.state.tag, each.check))
                for wait in go.waits
                for each in (go.remote[place] for place in wait.remote)
            )

    def begun(self, host: str, attempt: int) -> None:  # noqa: ARG002 - the observer's interface
        """Reset the counts of a host."""
        self._of(host).start_anew()
        self._ended[host] = set()

    def event(self, host: str, event: AnyEvent) -> None:
        """Count an event of a host."""
        tally = self._of(host)
        tally.lost = False
        tally.on_event(event)
        if event.ends is not None:
            self._ended.setdefault(host, set()).add((host, *event.ends[0]))

    def ended(self, host: str, end: HostEnd) -> None:
        """Note that the part of a host is over."""
        self._of(host).end = end

    def lost(self, host: str, seconds: float) -> None:  # noqa: ARG002 - as above
        """Note that a host is lost."""
        self._of(host).lost = True

    def _of(self, host: str) -> HostTally:
        tally = self.hosts.get(host)
        if tally is None:
            tally = self.hosts[host] = HostTally(self._clock)
        return tally

    def waits_for(self, host: str) -> tuple[str, str] | None:
        """Return the host and the label of a state that a host waits for; None if it is over, or has work to do.

        The label is as in a requisite: ``service: postgresql``.
        """
        tally = self.hosts[host]
        if tally.end is not None or tally.running or not tally.begun:
            return None
        waits = self._waits.get(host, deque())
        while waits:
            own, other = waits[0]
            if own not in self._ended.get(host, ()) and other not in self._ended.get(other[0], ()):
                parts = parse_tag(other[1])
                return other[0], f"{'check ' if other[2] else ''}{parts.state}: {one_line(parts.id)}"
            waits.popleft()  # ended states stay ended
        return None

    def over(self) -> int:
        """Return the number of hosts whose part is over."""
        return sum(each.end is not None for each in self.hosts.values())

    def words(self) -> str:
        """Return the progress of the hosts in one line."""
        if not self._joined:
            return f"waiting for the plans of hosts: {len(self.hosts)} so far"
        tallies = self.hosts.values()
        failed = sum(each.end is not None and bool(each.end.exit_code) for each in tallies)
        numbers = {
            "failed": failed,
            "lost": sum(each.lost and each.end is None for each in tallies),
            "waiting": sum(self.waits_for(host) is not None for host in self.hosts),
        }
        more = "".join(f", {number} {word}" for word, number in numbers.items() if number)
        states = f"{sum(each.done for each in tallies)}/{count(sum(each.total for each in tallies), 'state')}"
        return f"{self.over()}/{count(len(self.hosts), 'host')} done{more}; {states}"


class PlainFleetProgress(Tally):
    """One line for each host that ended, for each state that failed, and for hosts that wait for others."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._stream = stream
        self._waiting: dict[str, tuple[tuple[str, str], float]] = {}
        self._told: set[tuple[str, tuple[str, str]]] = set()
        self._plans: dict[str, HostPlan] = {}
        self._goes: dict[str, Go] = {}
        self._needs: dict[str, Needs] = {}

    def planned(self, host: str, plan: HostPlan) -> None:
        """Keep the plan of a host, to explain held-back states."""
        super().planned(host, plan)
        self._plans[host] = plan
        self._needs.pop(host, None)

    def joined(self, plans: Mapping[str, HostPlan], goes: Mapping[str, Go]) -> None:
        """Say that the run begins."""
        super().joined(plans, goes)
        self._goes.update(goes)
        self._needs.clear()
        states = count(sum(self.hosts[host].total for host in goes), "state")
        self._say(f"{states} on {count(len(goes), 'host')}")

    def event(self, host: str, event: AnyEvent) -> None:
        """Say that a state failed, or was held back."""
        super().event(host, event)
        if (failed := failed_state(event)) is not None:
            tag, row = failed
            word, why = self.hosts[host].word(tag, row), self._unmet(host, tag)
            self._say(f"{host}: {word} {describe_tag(tag)}{why and f': {why}'}")

    def _unmet(self, host: str, tag: str) -> str:
        """Return the failure that held a state back, "" if unknown."""
        plan = self._plans.get(host)
        if plan is None:
            return ""
        if host not in self._needs:
            self._needs[host] = needs_of(plan, self._goes.get(host))
        rows = {name: tally.unsuccessful for name, tally in self.hosts.items()}
        return self._needs[host].unmet(tag, {**rows, "": rows[host]})

    def ended(self, host: str, end: HostEnd) -> None:
        """Print that the part of a host is over; the reason for a missing report is printed elsewhere."""
        super().ended(host, end)
        if not end.why:
            tally = self.hosts[host]
            changed = f"{tally.changed} {'would change' if tally.dry else 'changed'}"
            parts = [count(tally.done, "state"), *([changed] if tally.changed else [])]
            parts += [f"{tally.failed} failed"] if tally.failed else []
            parts += [f"{tally.held_back} held back"] if tally.held_back else []
            word = "done" if not end.exit_code else "failed" if tally.failed or tally.held_back else "not finished"
            self._say(f"{host}: {word} ({', '.join(parts)})")

    def tick(self) -> None:
        """Print the hosts that have begun to wait for others."""
        now = self._clock()
        found: dict[tuple[str, str], list[str]] = {}
        for host in self.hosts:
            other = self.waits_for(host)
            known = self._waiting.get(host)
            if other is None:
                self._waiting.pop(host, None)
            elif known is None or known[0] != other:
                self._waiting[host] = (other, now)
            elif now - known[1] >= _PATIENCE and (host, other) not in self._told:
                self._told.add((host, other))
                found.setdefault(other, []).append(host)
        for other, hosts in found.items():
            self._say(waiting_line(hosts, other))

    def close(self) -> None:
        """Do nothing: the stream stays open."""

    def _say(self, text: str) -> None:
        width = len(str(len(self.hosts)))
        print(f"[{self.over():>{width}}/{len(self.hosts)}] {text}", file=self._stream, flush=True)


def waiting_line(hosts: list[str], other: tuple[str, str]) -> str:
    """Return the line for hosts that wait for a state of another."""
    names = ", ".join(hosts[:_NAMED]) + (f" and {len(hosts) - _NAMED} more" if len(hosts) > _NAMED else "")
    return f"{names} {'wait' if len(hosts) > 1 else 'waits'} for {other[0]}: {other[1]}"


class LiveFleetProgress(LiveDisplay, Tally):
    """A progress bar of all states, and the hosts that have work to do, wait or are lost."""

    def __init__(self, stream: TextIO) -> None:
        LiveDisplay.__init__(self, stream)
        Tally.__init__(self)

    def _picture(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        tallies = self.hosts.values()
        head = self._head(
            sum(each.done for each in tallies),
            sum(each.total for each in tallies),
            self.words(),
            failed=any(each.failed for each in tallies),
        )
        lines = list(self._lines())
        shown = [Text(f"  {line}", style=style, no_wrap=True, overflow="ellipsis") for style, line in lines[:_SHOWN]]
        if len(lines) > _SHOWN:
            shown.append(Text(f"  … and {len(lines) - _SHOWN} more", style="dim"))
        return Group(head, *shown)

    def _lines(self) -> Iterator[tuple[str, str]]:
        """Yield a style and a line for each: lost hosts, hosts at work, states that hosts wait for."""
        open_ = {host: tally for host, tally in self.hosts.items() if tally.end is None}
        now = time.monotonic()
        for host, tally in open_.items():
            if tally.lost:
                yield "red", f"{host} is lost"
        for host, tally in open_.items():
            if tally.running and not tally.lost:
                tag, since = next(iter(tally.running.items()))
                more = f", and {len(tally.running) - 1} more" if len(tally.running) > 1 else ""
                at = f"{tally.done}/{tally.total}"
                yield "", f"{host} [{at}] {describe_tag(tag)} ({short_time(now - since)}){more}"
        waiting: dict[tuple[str, str], list[str]] = {}
        for host, tally in open_.items():
            other = None if tally.lost else self.waits_for(host)
            if other is not None:
                waiting.setdefault(other, []).append(host)
        for other, hosts in waiting.items():
            yield "dim", waiting_line(hosts, other)
