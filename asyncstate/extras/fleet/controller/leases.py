"""Leases: the hosts of a run that are alive, by the clock of the listening process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from asyncstate.extras.fleet.heartbeat import PULSE
from asyncstate.extras.fleet.protocol import two_machines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asyncstate.extras.fleet.protocol import Lease

_MISSED: Final = 3.0
"""The intervals of its lease after which a silent host is lost."""
_WITHOUT: Final = 3
"""Leases in a row that do not name a run, after which the host takes no part in it any more."""


class Leases:
    """The time of each host's last sign of life, by the clock of this process.

    Silence counts only while this process listens: not while it is stopped, or the board is unreachable.
    """

    def __init__(self) -> None:
        self._signs: dict[str, float] = {}
        self._intervals: dict[str, float] = {}
        self._heard = 0.0
        self._renewals: dict[str, Lease] = {}
        self._earlier: dict[str, set[str]] = {}
        self._told: set[str] = set()
        self._without: dict[str, int] = {}
        self.lost: set[str] = set()

    def expect(self, hosts: Iterable[str]) -> None:
        """Start to expect signs of these hosts."""
        self._heard = now = anyio.current_time()
        self._signs = dict.fromkeys(hosts, now)
        self._intervals = dict.fromkeys(self._signs, 10.0)

    def attend(self, interval: float) -> None:
        """Note that the board answers now, as it should do after each ``interval``."""
        now = anyio.current_time()
        if now - self._heard > max(2 * interval, PULSE):
            self._signs = {host: sign if host in self.lost else now for host, sign in self._signs.items()}
        self._heard = now

    def renewed(self, host: str, interval: float) -> bool:
        """Note a sign of a host; the next comes within ``interval`` seconds. Returns whether the host was lost."""
        was_lost = host in self.lost
        self._intervals[host] = min(max(interval, 0.01), 3600.0)
        self.seen(host)
        return was_lost

    def two_machines(self, lease: Lease) -> str:
        """Return a message if two machines renew the lease of one host by turns, once for each host; else ""."""
        before = self._renewals.get(lease.host)
        self._renewals[lease.host] = lease
        if before is None or before.boot == lease.boot:
            return ""
        earlier = self._earlier.setdefault(lease.host, set())
        earlier.add(before.boot)
        if lease.boot not in earlier or lease.host in self._told:
            return ""
        self._told.add(lease.host)
        return two_machines(lease.host, before.where, lease.where)

    def note_part(self, lease: Lease, run: str) -> None:
        """Note whether a host takes part in a run."""
        absent = lease.runs is not None and run not in lease.runs
        self._without[lease.host] = self._without.get(lease.host, 0) + 1 if absent else 0

    def without_part(self, open_: list[str]) -> list[str]:
        """Return the hosts among these that are there and take no part in the run any more."""
        return [host for host in open_ if host not in self.lost and self._without.get(host, 0) >= _WITHOUT]

    def seen(self, host: str) -> None:
        """Note a sign of a host."""
        self._signs[host] = anyio.current_time()
        self.lost.discard(host)

    def silence(self, host: str) -> float:
        """Return the seconds since the last sign of a host, up to the last time that the board answered."""
        return max(self._heard - self._signs[host], 0.0)

    def _limit(self, host: str) -> float:
        return _MISSED * self._intervals[host]

    def newly_lost(self, open_: list[str]) -> list[tuple[str, float]]:
        """Return the hosts among these that have just been lost, with the seconds of their silence."""
        found = [
            (host, self.silence(host))
            for host in open_
            if host not in self.lost and self.silence(host) >= self._limit(host)
        ]
        self.lost.update(host for host, _ in found)
        return found
