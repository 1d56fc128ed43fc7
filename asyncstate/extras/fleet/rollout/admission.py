"""Admission of a run's hosts: a batch at a time, the canaries first, none once too many have failed.

It is sans-I/O: the controller reports the fate of hosts and asks for the next ones. Hosts begin in *turns*: one host,
or several that wait for each other. A host whose states wait for another host never has an earlier turn, so hosts under
way wait only for hosts that are under way or have ended: a batch never waits for ever.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from asyncstate.extras.fleet.settings import Hosts, SomeHosts, require_number
from asyncstate.model.dag import Dag
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from asyncstate.extras.fleet.protocol import HostPlan, Rollout, RunRecord

_SHOWN: Final = 5


def count_of(option: str, text: str, hosts: int, *, least: int = 0) -> int:
    """Return the number that ``2`` or ``10%`` means for ``hosts`` hosts: rounded down, ``least`` at least.

    Raises FleetError, which names the option.
    """
    require_number(option, text, SomeHosts if least else Hosts)
    number, percent, _ = text.partition("%")
    return max(int(hosts * float(number) / 100) if percent else int(number), least)


def turns_of(graph: Dag, hosts: Sequence[str], canaries: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """Return the hosts that begin together, in the order in which they begin: canaries first, then by name.

    The first nodes of the graph are the hosts; an edge leads to a host that waits. Other nodes are joints.
    """
    components = graph.components()
    first = frozenset(canaries)
    number = {node: place for place, component in enumerate(components) for node in component}
    condensed = Dag(len(components))
    for before in range(graph.size):
        for after in graph.successors(before):
            if number[before] != number[after]:
                condensed.add(number[before], number[after], "")
    named = [tuple(sorted(hosts[node] for node in each if node < len(hosts))) for each in components]
    order = condensed.topological_order(lambda place: (first.isdisjoint(named[place]), named[place]))
    return tuple(named[place] for place in order if named[place])


class Admission:
    """The admission of hosts. ``batch`` is the number under way at once, 0: all; ``most`` the number that may fail.

    `next` names each host once. `over` and `failed` also accept hosts of the run without a turn.
    """

    def __init__(
        self,
        turns: Iterable[tuple[str, ...]],
        *,
        batch: int = 0,
        canaries: Collection[str] = (),
        most: int | None = None,
        halted: str = "",
    ) -> None:
        self._turns = deque(turns)
        self._batch = batch
        self._canaries = set(canaries)
        self._most = most
        self._failed: dict[str, None] = {}
        self._over: set[str] = set()
        self.under_way: set[str] = set()
        self.halted: str = halted
        """The reason why no further host begins, "" as long as hosts may."""
        self.ends_all: bool = False
        """Whether hosts under way are to start nothing more, too."""

    @property
    def pending(self) -> list[str]:
        """The hosts that have not begun and are not over, in the order of their turns."""
        return [host for turn in self._turns for host in turn if host not in self._over]

    def began(self, hosts: Collection[str]) -> list[str]:
        """Note that these hosts began under an earlier controller; return all hosts of their turns."""
        begun = {turn for turn in self._turns if not set(turn).isdisjoint(hosts)}
        found = [host for turn in self._turns if turn in begun for host in turn if host not in self._over]
        self._turns = deque(turn for turn in self._turns if turn not in begun)
        self.under_way.update(found)
        return found

    def failed(self, host: str) -> None:
        """Note that a state of a host failed, or that the host is lost."""
        self._failed[host] = None
        if self._most is not None and len(self._failed) > self._most:
            self.ends_all = True
            self._halt(f"{_hosts(self._failed)} failed, and max_failures is {self._most}")

    def over(self, host: str, *, failed: bool) -> None:
        """Note that the part of a host is over; it gives back its place."""
        self._over.add(host)
        self.under_way.discard(host)
        if failed:
            self.failed(host)
        else:
            self._failed.pop(host, None)
        if failed and host in self._canaries:
            self._halt(f"canary {host} failed")

    def _halt(self, why: str) -> None:
        self.halted = self.halted or why

    def next(self) -> list[str]:
        """Return the hosts that may begin now. They are under way from then on."""
        found: list[str] = []
        while self._turns and not self.halted:
            turn = [host for host in self._turns[0] if host not in self._over]
            if not self._canaries.issuperset(turn) and not self._over.issuperset(self._canaries):
                break
            if self._batch and self.under_way and len(self.under_way) + len(turn) > self._batch:
                break
            self._turns.popleft()
            self.under_way.update(turn)
            found += turn
        return found


def _hosts(hosts: Collection[str]) -> str:
    named = ", ".join(list(hosts)[:_SHOWN]) + (", …" if len(hosts) > _SHOWN else "")
    return f"host {named} has" if len(hosts) == 1 else f"{len(hosts)} hosts ({named}) have"


def notes(turns: Iterable[tuple[str, ...]], batch: int) -> list[str]:
    """Return notes for the operator before hosts begin: turns with more hosts than the batch allows."""
    return [
        f"{len(turn)} hosts wait for each other and begin together, though the batch is {batch}: "
        + ", ".join(turn[:_SHOWN])
        + (", …" if len(turn) > _SHOWN else "")
        for turn in turns
        if batch and len(turn) > batch
    ]


def lanes_without_states(lanes: Iterable[str], plans: Iterable[HostPlan]) -> list[str]:
    """Return notes on lanes without a state in these plans."""
    known = sorted({lane for plan in plans for _, lane in plan.lanes})
    found: list[str] = []
    for lane in lanes:
        if lane not in known:
            near = nearest(lane, known)
            has = f"its lanes are {', '.join(known[:_SHOWN])}" if known else "no state has a fleet_lane"
            found.append(f"no state of this run is in lane {lane!r}: {f'did you mean {near!r}?' if near else has}")
    return found


def described(rollout: Rollout) -> str:
    """Return a roll-out in a line: ``batch 2, canary web1``; "" if all hosts begin at once, whatever fails."""
    said = [(name, getattr(rollout, name)) for name in ("batch", "canary", "max_failures")]
    said += [(f"lane {name}", places) for name, places in sorted(rollout.lanes.items())]
    return ", ".join(f"{name} {value}" for name, value in said if value)


def resolved(rollout: Rollout, record: RunRecord) -> tuple[int, int | None]:
    """Return the number of hosts that may be under way at once, 0 for all, and that may fail. Raises FleetError."""
    hosts = len(record.hosts)
    batch = count_of("batch", rollout.batch, hosts, least=1) if rollout.batch else 0
    return batch, count_of("max_failures", rollout.max_failures, hosts) if rollout.max_failures else None
