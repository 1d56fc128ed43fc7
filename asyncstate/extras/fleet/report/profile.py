"""Times of a run's states across hosts on one time line, and the critical path.

Each host counts seconds from the beginning of its own part. Clocks of hosts are never compared: the
beginning of a host's part on the common time line follows from causality:

- A host sends an event before the board stores it. The time of the board is the common one, so the part of a host
  begins at the latest at the time of storage minus the time of the event, for each of its reports.
- A state that another host released was ready only after the state on that host had ended.

Of all possible time lines, this takes the latest: a report is stored a moment after its last event, so the latest is
nearest to the truth. If the clock of a host runs so fast or slow that none fits, it takes one that nearly does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate import extend
from asyncstate.extras.fleet.controller.event_stream import Observer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.model.event import AnyEvent

_JOINT = ": "
_SEPARATOR = "_|-"


class Step(NamedTuple):
    """A state on the critical path: its host, its start on the common time line, its tag, and how long it took."""

    host: str
    began: float
    tag: str
    seconds: float


class Release(NamedTuple):
    """The end of a state that another one waited for: its host, its tag, and the time since its host's part began."""

    host: str
    tag: str
    ended: float


class FleetProfile(Observer):
    """Collects the events of a run across hosts; read it when the run is over."""

    def __init__(self) -> None:
        self.hosts: dict[str, Any] = {}
        self._latest: dict[str, float] = {}

    def begun(self, host: str, attempt: int) -> None:  # noqa: ARG002 - the observer's interface
        """Forget the events of a host's earlier attempt."""
        self.hosts[host] = extend.provided("analysis", "--report").profile()
        self._latest.pop(host, None)

    def event(self, host: str, event: AnyEvent) -> None:
        """Note the time of an event of a host."""
        self.hosts[host].on_event(event)

    def told(self, host: str, time: float, stored: float) -> None:
        """Note the time at which the board stored events of a host."""
        self._latest[host] = min(self._latest.get(host, stored - time), stored - time)

    def begins(self) -> dict[str, float]:
        """Return the beginning of each host's part, in seconds since the first one."""
        begins = {host: self._latest[host] for host in self.hosts if host in self._latest}
        bounds = self._bounds()
        for _ in begins:
            moved = False
            for (before, after), slack in bounds.items():
                if before in begins and after in begins and begins[after] + slack < begins[before]:
                    begins[before] = begins[after] + slack
                    moved = True
            if not moved:
                break
        first = min(begins.values(), default=0.0)
        return {host: begin - first for host, begin in begins.items()}

    def _bounds(self) -> dict[tuple[str, str], float]:
        """Return for pairs of hosts the longest delay of the first one's beginning after the second one's."""
        bounds: dict[tuple[str, str], float] = {}
        for host, profile in self.hosts.items():
            for timing in profile.finished:
                other = self._elsewhere(timing.after)
                if other is not None and other.host != host:
                    slack = timing.ready - other.ended
                    bounds[other.host, host] = min(bounds.get((other.host, host), slack), slack)
        return bounds

    def _elsewhere(self, text: str) -> Release | None:
        """Return the state of another host that `ChunkReady.after` names, as ``host: tag``; None if it is not known."""
        joint = text.find(_JOINT)
        end = text.find(_SEPARATOR)
        while 0 <= joint < end:
            profile = self.hosts.get(text[:joint])
            found = profile.timing(text[joint + len(_JOINT) :]) if profile is not None else None
            if found is not None and found.ended >= 0:
                return Release(text[:joint], found.tag, found.ended)
            joint = text.find(_JOINT, joint + 1)
        return None

    def released_by(self, host: str, after: str) -> Release | None:
        """Return the state that a state of ``host`` waited for last, by its `ChunkReady.after`; None without a wait."""
        other = self._elsewhere(after)
        if other is not None:
            return other
        before = self.hosts[host].timing(after)
        return None if before is None or before.ended < 0 else Release(host, before.tag, before.ended)

    @property
    def wall(self) -> float:
        """Seconds from the beginning of the first part to the end of the last state."""
        begins = self.begins()
        return max(
            (begin + timing.ended for host, begin in begins.items() for timing in self.hosts[host].finished),
            default=0.0,
        )

    def critical_path(self) -> list[Step]:
        """Return the chain of states that ended last: each is the last one that its successor waited for."""
        begins = self.begins()
        steps = self._steps_back(begins)
        return list(steps)[::-1]

    def _steps_back(self, begins: dict[str, float]) -> Iterator[Step]:
        ends = [
            (begin + timing.ended, host, timing)
            for host, begin in begins.items()
            for timing in self.hosts[host].finished
        ]
        if not ends:
            return
        _, host, timing = max(ends, key=lambda end: end[0])
        seen: set[tuple[str, str]] = set()
        while (host, timing.tag) not in seen:
            seen.add((host, timing.tag))
            yield Step(host, begins[host] + timing.started, timing.tag, timing.seconds)
            before = self.released_by(host, timing.after)
            if before is None or before.host not in begins:
                return
            found = self.hosts[before.host].timing(before.tag)
            if found is None:
                return
            host, timing = before.host, found
