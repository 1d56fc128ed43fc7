"""The join: one graph of the plans of all hosts, checked before anything starts.

It is a pure function of the plans, whatever their order. Requisites on states of other hosts become edges between the
graphs of the hosts; a target that is missing and a cycle are errors with host, file and line. Each host gets its slice:
which of its states wait for which states of others, and who waits for its own.
"""

from __future__ import annotations

import fnmatch
import hashlib
import itertools
import re
from typing import TYPE_CHECKING

import msgspec

from asyncstate.errors import CompileError, CycleError, Issue, MessageRefused
from asyncstate.fleet.part import TESTED
from asyncstate.fleet.protocol import Go, RemoteState, Wait
from asyncstate.model.dag import Dag
from asyncstate.model.requisite import RequisiteKind
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from asyncstate.fleet.protocol import HostPlan, State
    from asyncstate.model.requisite import RemoteRequisite

_GLOB = re.compile(r"[*?\[\]]")
_SHOWN = 20
"""How many links of a cycle, and how many names, are shown."""
_MOST_NODES = 5_000_000
_IMPLICIT = (
    "A host keeps the order of states that touch the same things, are in one group or have an 'order', as if it were "
    "alone. Where that closes a cycle, say otherwise: with a requisite, 'aggregate: False' or 'footprint:'."
)
_PREREQ, _PREREQUIRED, _LISTEN = (
    each.value for each in (RequisiteKind.PREREQ, RequisiteKind.PREREQUIRED, RequisiteKind.LISTEN)
)
_REQUISITES = frozenset(kind.value for kind in RequisiteKind)

Place = tuple[str, int]
"""A state of the fleet: its host, and its number in the plan of that host."""


class Join(msgspec.Struct, frozen=True):
    """``goes`` are the slices by host, ``digest`` names the joined graph."""

    goes: dict[str, Go]
    digest: str


def join(plans: Mapping[str, HostPlan], match: Callable[[str], Collection[str]]) -> Join:
    """Join the plans of hosts. ``match`` returns the hosts that fit a target expression; others than these are ignored.

    Raises CompileError with every mistake of every plan and every target that is missing, CycleError for a cycle,
    MessageRefused for a plan that cannot be one.
    """
    ordered = {host: plans[host] for host in sorted(plans)}
    for host, plan in ordered.items():
        _require_sound(host, plan)
    issues = [
        Issue(f"{host}: {each.message}", _file(host, each.file), each.line, each.hint)
        for host, plan in ordered.items()
        for each in plan.mistakes
    ]
    resolver = _Resolver(ordered, match)
    needs = list(resolver.needs())
    issues += resolver.issues
    if issues:
        raise CompileError(issues)
    graph = _Graph(ordered, needs)
    graph.require_no_cycle()
    return _slices(ordered, needs)


def _require_sound(host: str, plan: HostPlan) -> None:
    states, nodes = len(plan.states), plan.nodes
    sound = (
        states <= nodes <= _MOST_NODES
        and len(plan.edges) == 2 * len(plan.sources)
        and all(0 <= node < nodes for node in plan.edges)
        and all(0 <= chunk < states <= node < nodes for chunk, node in plan.checks)
        and all(0 <= each.chunk < states and each.kind in _REQUISITES for each in plan.requires)
    )
    if not sound:
        raise MessageRefused(f"the plan of host {host} is malformed: it refers to states that it does not have")


class _Need(msgspec.Struct, frozen=True):
    """The state ``of`` has a requisite of this kind on ``targets``, states of other hosts."""

    of: Place
    kind: str
    targets: tuple[Place, ...]


class _Names:
    """The states of one host, by what a requisite can name."""

    def __init__(self, states: tuple[State, ...]) -> None:
        self._states = states
        self._tables: dict[str, dict[str, list[int]]] = {}

    def table(self, key: str) -> dict[str, list[int]]:
        """Return the states by SLS, or by ID and name: those of a module, or of all for ``id``."""
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


class _Resolver:
    """Resolves the requisites of all hosts. ``issues`` has what is wrong with them."""

    def __init__(self, plans: Mapping[str, HostPlan], match: Callable[[str], Collection[str]]) -> None:
        self.issues: list[Issue] = []
        self._plans = plans
        self._match = match
        self._names = {host: _Names(plan.states) for host, plan in plans.items()}
        self._hosts: dict[str, list[str]] = {}
        self._found: dict[tuple[str, str, str, str], tuple[Place, ...]] = {}

    def needs(self) -> Iterator[_Need]:
        """Yield every requisite once, in the order of hosts and states."""
        seen: set[_Need] = set()
        for host, plan in self._plans.items():
            for requisite in plan.requires:
                for need in self._needs_of(host, plan, requisite):
                    if need not in seen:
                        seen.add(need)
                        yield need

    def _needs_of(self, host: str, plan: HostPlan, requisite: RemoteRequisite) -> Iterator[_Need]:
        targets = self._targets(host, plan, requisite)
        own = (host, requisite.chunk)
        if not requisite.reverse:
            if targets:
                yield _Need(own, requisite.kind, targets)
            return
        for target in targets:
            yield _Need(target, requisite.kind, (own,))

    def _targets(self, host: str, plan: HostPlan, requisite: RemoteRequisite) -> tuple[Place, ...]:
        key = (host, requisite.hosts, requisite.key, requisite.value)
        known = self._found.get(key)
        if known is not None:
            return known
        hosts = [each for each in self._fitting(requisite.hosts) if each != host]
        found = [(each, number) for each in hosts for number in self._names[each].exact(requisite.key, requisite.value)]
        if not found and _GLOB.search(requisite.value):
            found = [
                (each, number) for each in hosts for number in self._names[each].glob(requisite.key, requisite.value)
            ]
        if not found:
            self._missing(host, plan, requisite, hosts)
        self._found[key] = tuple(found)
        return self._found[key]

    def _fitting(self, expression: str) -> list[str]:
        hosts = self._hosts.get(expression)
        if hosts is None:
            fitting = {expression} if expression in self._plans else set(self._match(expression))
            hosts = self._hosts[expression] = [host for host in self._plans if host in fitting]
        return hosts

    def _missing(self, host: str, plan: HostPlan, requisite: RemoteRequisite, hosts: list[str]) -> None:
        state = plan.states[requisite.chunk]
        what = f"[{requisite}] in state [{state.name}] in SLS [{state.sls}] of host {host}"
        if not hosts:
            message = f"No host of this run fits requisite {what}"
            others = [each for each in self._plans if each != host]
            near = nearest(requisite.hosts, others)
            run_on = f"the run is on {', '.join(others[:_SHOWN]) or 'no other host'}"
            hint = f"did you mean '{near}'?" if near else f"{run_on}: add it to the target"
        else:
            message = f"Referenced state does not exist for requisite {what}: looked for on {', '.join(hosts[:_SHOWN])}"
            hint = self._hint(requisite, hosts)
        self.issues.append(Issue(message, _file(host, requisite.file), requisite.line, hint))

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


class _Graph:
    """All nodes of all hosts under numbers of their own, and the edges between them."""

    def __init__(self, plans: Mapping[str, HostPlan], needs: Iterable[_Need]) -> None:
        self._plans = plans
        self._first: dict[str, int] = {}
        self._checks: dict[Place, int] = {}
        self._dag = Dag(0)
        size = 0
        for host, plan in plans.items():
            self._first[host] = size
            self._checks |= {(host, chunk): size + node for chunk, node in plan.checks}
            size += plan.nodes
        self._dag = Dag(size)
        for host, plan in plans.items():
            first = self._first[host]
            for place, sources in enumerate(plan.sources):
                before, after = plan.edges[2 * place : 2 * place + 2]
                for source in sources.split(","):
                    self._dag.add(first + before, first + after, source)
        needs = list(needs)
        for need in needs:
            if need.kind == _PREREQ:
                for target in need.targets:
                    self._require_check(target)
        for need in needs:
            self._add(need)

    def _node(self, place: Place) -> int:
        return self._first[place[0]] + place[1]

    def _require_check(self, target: Place) -> None:
        if target in self._checks:
            return
        check = self._checks[target] = self._dag.add_node()
        node = self._node(target)
        for before in list(self._dag.predecessors(node)):
            for source in self._dag.sources(before, node):
                if source not in TESTED:
                    self._dag.add(before, check, source)

    def _add(self, need: _Need) -> None:
        if need.kind == _LISTEN:
            return
        node, own_check = self._node(need.of), self._checks.get(need.of)
        for target in need.targets:
            before = self._node(target)
            if need.kind == _PREREQ:
                self._dag.add(node, before, _PREREQUIRED)
                before = self._checks[target]
            self._dag.add(before, node, need.kind)
            if own_check is not None:
                self._dag.add(before, own_check, need.kind)

    def require_no_cycle(self) -> None:
        """Raise CycleError with a shortest cycle, if there is one."""
        if len(self._dag.topological_order(lambda node: node)) == self._dag.size:
            return
        links = list(self._links(self._dag.find_cycle()))
        lines = [
            f"{self._named(after)} waits for {self._named(before)} ({', '.join(why)})"
            for after, before, why in links[:_SHOWN]
        ]
        if len(links) > _SHOWN:
            lines.append(f"… and {len(links) - _SHOWN} more")
        if not all(_REQUISITES.intersection(why) for _, _, why in links):
            lines.append(_IMPLICIT)
        last = links[0][0]
        message = "Recursive requisites were found across hosts"
        hint = "\n    ".join(["the shortest cycle:", *lines])
        raise CycleError([Issue(message, _file(last[0], self._state(last).file), self._state(last).line, hint)])

    def _named(self, place: Place) -> str:
        return f"{place[0]}: {self._state(place).place}"

    def _state(self, place: Place) -> State:
        return self._plans[place[0]].states[place[1]]

    def _links(self, cycle: list[int]) -> Iterator[tuple[Place, Place, list[str]]]:
        """Yield the links of a cycle: a state, the one it waits for, and why. Sets, stages and groups are passed."""
        places = {check: place for place, check in self._checks.items()}
        for host, plan in self._plans.items():
            places |= {self._first[host] + chunk: (host, chunk) for chunk in range(len(plan.states))}
        start = next((number for number, node in enumerate(cycle) if node in places), 0)
        cycle = [*cycle[start:], *cycle[: start + 1]]
        before, why = cycle[0], list[str]()
        for node, after in itertools.pairwise(cycle):
            why += self._dag.sources(node, after)
            if after in places:
                shown = ("prereq" if each == _PREREQUIRED else each for each in why)
                yield places[after], places[before], list(dict.fromkeys(shown))
                before, why = after, []


def _slices(plans: Mapping[str, HostPlan], needs: Iterable[_Need]) -> Join:
    waits: dict[str, list[tuple[int, str, list[RemoteState]]]] = {host: [] for host in plans}
    readers: dict[str, dict[str, set[str]]] = {host: {} for host in plans}

    def wait(of: Place, kind: str, targets: Iterable[Place], *, check: bool = False) -> None:
        states = [RemoteState(host, chunk, plans[host].states[chunk], check) for host, chunk in targets]
        waits[of[0]].append((of[1], kind, states))
        for each in states:
            readers[each.host].setdefault(each.node, set()).add(of[0])

    for need in needs:
        wait(need.of, need.kind, need.targets, check=need.kind == _PREREQ)
        if need.kind == _PREREQ:
            for target in need.targets:
                wait(target, _PREREQUIRED, (need.of,))
    goes = {
        host: _go(plan, waits[host], {node: tuple(sorted(hosts)) for node, hosts in sorted(readers[host].items())})
        for host, plan in plans.items()
    }
    digest = hashlib.sha256(msgspec.json.encode([msgspec.structs.replace(go, nonce="") for go in goes.values()]))
    return Join(
        {host: msgspec.structs.replace(go, join=digest.hexdigest()) for host, go in goes.items()}, digest.hexdigest()
    )


def _go(plan: HostPlan, waits: list[tuple[int, str, list[RemoteState]]], readers: dict[str, tuple[str, ...]]) -> Go:
    place: dict[tuple[str, str], int] = {}
    remote: list[RemoteState] = []
    found: list[Wait] = []
    for chunk, kind, states in waits:
        for state in states:
            if (state.host, state.node) not in place:
                place[state.host, state.node] = len(remote)
                remote.append(state)
        found.append(Wait(chunk, kind, tuple(place[state.host, state.node] for state in states)))
    return Go(
        run=plan.run,
        host=plan.host,
        nonce=plan.nonce,
        digest=plan.digest,
        remote=tuple(remote),
        waits=tuple(found),
        readers=readers,
    )


def _file(host: str, file: str) -> str:
    return f"{host}:{file}" if file else host
