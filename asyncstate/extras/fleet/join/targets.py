"""Targets of requisites on other hosts: resolution among the states in the plans of all hosts."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, Final

import msgspec

from asyncstate.errors import FleetError, Issue
from asyncstate.model.requisite import RequisiteKind
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from asyncstate.extras.fleet.protocol import HostPlan, State
    from asyncstate.model.requisite import RemoteRequisite

_GLOB = re.compile(r"[*?\[\]]")
SHOWN: Final = 20
"""Most links of a cycle, and most names, in a message."""

Place = tuple[str, int]
"""A state of the fleet: its host, and its number in the plan of that host."""


def file_of(host: str, file: str) -> str:
    """Return a file of a host as messages show it."""
    return f"{host}:{file}" if file else host


class Need(msgspec.Struct, frozen=True):
    """The state ``of`` has a requisite of this kind on ``targets``, states of other hosts."""

    of: Place
    kind: str
    targets: tuple[Place, ...]


class _Names:
    """The states of one host, by all names that a requisite can use."""

    def __init__(self, states: tuple[State, ...]) -> None:
        self._states = states
        self._tables: dict[str, dict[str, list[int]]] = {}

    def table(self, key: str) -> dict[str, list[int]]:
        """Return the states by SLS, or by ID and name: the states of one module, or all for ``id``."""
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = {}
            for number, state in enumerate(self._states):
                if key == "sls":
                    named: Iterable[str] = (state.sls, *state.included_from)
                else:
                    named = (state.id, state.name) if key in ("id", state.state) else ()
                for name in dict.fromkeys(named):
                    table.setdefault(name, []).append(number)
        return table

    def exact(self, key: str, value: str) -> list[int]:
        return self.table(key).get(value, [])

    def glob(self, key: str, value: str) -> list[int]:
        fits = re.compile(fnmatch.translate(value)).match
        return sorted({number for name, numbers in self.table(key).items() if fits(name) for number in numbers})


class Resolver:
    """Resolves the requisites of all hosts. ``issues`` has the mistakes in them, by host.

    ``absent`` are the hosts of the run without a plan, with the reason. ``blocked`` are the hosts with a state that
    waits for one of them, and for no other host.
    """

    def __init__(
        self,
        plans: Mapping[str, HostPlan],
        match: Callable[[str], Collection[str]],
        absent: Mapping[str, str],
    ) -> None:
        self.issues: dict[str, list[Issue]] = {}
        self.blocked: dict[str, str] = {}
        self._absent = absent
        self._plans = plans
        self._match = match
        self._names = {host: _Names(plan.states) for host, plan in plans.items()}
        self._hosts: dict[str, tuple[list[str], list[str]]] = {}
        self._found: dict[tuple[str, str, str, str, bool], tuple[Place, ...]] = {}

    def needs(self) -> Iterator[Need]:
        """Yield every requisite once, in the order of hosts and states."""
        seen: set[Need] = set()
        for host, plan in self._plans.items():
            for requisite in plan.requires:
                for need in self._needs_of(host, plan, requisite):
                    if need not in seen:
                        seen.add(need)
                        yield need

    def _needs_of(self, host: str, plan: HostPlan, requisite: RemoteRequisite) -> Iterator[Need]:
        targets = self._targets(host, plan, requisite)
        own = (host, requisite.chunk)
        if not requisite.reverse:
            if targets:
                yield Need(own, requisite.kind, targets)
            return
        for target in targets:
            yield Need(target, requisite.kind, (own,))

    def _targets(self, host: str, plan: HostPlan, requisite: RemoteRequisite) -> tuple[Place, ...]:
        waits = not requisite.reverse or requisite.kind == RequisiteKind.PREREQ
        key = (host, requisite.hosts, requisite.key, requisite.value, waits)
        known = self._found.get(key)
        if known is not None:
            return known
        try:
            fitting, absent = self._fitting(requisite.hosts)
        except FleetError as error:
            self._refuse(host, plan, requisite, str(error))
            self._found[key] = ()
            return ()
        hosts = [each for each in fitting if each != host]
        found = [(each, number) for each in hosts for number in self._names[each].exact(requisite.key, requisite.value)]
        if not found and _GLOB.search(requisite.value):
            found = [
                (each, number) for each in hosts for number in self._names[each].glob(requisite.key, requisite.value)
            ]
        if not found and absent:
            if waits:
                self._block(host, plan, requisite, absent[0])
        elif not found:
            self._missing(host, plan, requisite, hosts)
        self._found[key] = tuple(found)
        return self._found[key]

    def _fitting(self, expression: str) -> tuple[list[str], list[str]]:
        """Return the hosts that fit and have a plan, and the hosts that fit and have none."""
        hosts = self._hosts.get(expression)
        if hosts is None:
            known = expression in self._plans or expression in self._absent
            fitting = {expression} if known else set(self._match(expression))
            hosts = self._hosts[expression] = (
                [host for host in self._plans if host in fitting],
                [host for host in self._absent if host in fitting],
            )
        return hosts

    def _block(self, host: str, plan: HostPlan, requisite: RemoteRequisite, absent: str) -> None:
        """Note that a host cannot begin."""
        place = plan.states[requisite.chunk].place
        why = f"its state {place} has [{requisite}], and {absent} has no plan: {self._absent[absent]}"
        self.blocked.setdefault(host, why)

    def _refuse(self, host: str, plan: HostPlan, requisite: RemoteRequisite, why: str) -> None:
        """Note that a requisite names no hosts."""
        hint = "`host` is the ID of a host or a compound target: db1, 'web*', 'L@a,b', 'G@role:db and not E@old.*'"
        message = f"{_named(host, plan, requisite)}: {why}"
        self._wrong(host, Issue(message, file_of(host, requisite.file), requisite.line, hint, code="E311"))

    def _missing(self, host: str, plan: HostPlan, requisite: RemoteRequisite, hosts: list[str]) -> None:
        what = _named(host, plan, requisite)
        if not hosts:
            message = f"No host of this run fits {what}"
            hint = self._host_hint(host, requisite.hosts)
        else:
            message = f"Referenced state does not exist for {what}: looked for on {', '.join(hosts[:SHOWN])}"
            hint = self._hint(requisite, hosts)
        code = "E312" if hosts else "E311"
        self._wrong(host, Issue(message, file_of(host, requisite.file), requisite.line, hint, code=code))

    def _wrong(self, host: str, issue: Issue) -> None:
        self.issues.setdefault(host, []).append(issue)

    def _host_hint(self, host: str, expression: str) -> str:
        beside = sorted(each for each in self._match(expression) if each not in self._plans)
        if beside:
            return f"{', '.join(beside[:SHOWN])} would fit, but the run is without: add it to the target"
        others = [each for each in self._plans if each != host]
        near = nearest(expression, others)
        run_on = f"the run is on {', '.join(others[:SHOWN]) or 'no other host'}"
        return f"did you mean '{near}'?" if near else f"{run_on}: add it to the target"

    def _hint(self, requisite: RemoteRequisite, hosts: list[str]) -> str:
        if requisite.key not in ("id", "sls"):
            modules = {
                self._plans[host].states[number].state
                for host in hosts
                for number in self._names[host].exact("id", requisite.value)
            }
            if modules:
                return f"'{requisite.value}' is there, but as {', '.join(sorted(modules))}"
        for key in (requisite.key, "id"):
            near = nearest(requisite.value, [name for host in hosts for name in self._names[host].table(key)])
            if near:
                return f"did you mean '{near}'?"
        return ""


def _named(host: str, plan: HostPlan, requisite: RemoteRequisite) -> str:
    state = plan.states[requisite.chunk]
    return f"requisite [{requisite}] in state [{state.name}] in SLS [{state.sls}] of host {host}"
