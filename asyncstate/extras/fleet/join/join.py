"""The join: one graph of the plans of all hosts, checked before anything starts.

It is a pure function of the plans, whatever their order. Requisites on states of other hosts become edges between the
graphs of the hosts; a missing target and a cycle are errors with host, file and line. Each host gets its slice: the
states of other hosts that its own states wait for, and the hosts that wait for its states.
"""

from __future__ import annotations

import hashlib
import itertools
from typing import TYPE_CHECKING

import msgspec

from asyncstate.errors import CompileError, Issue
from asyncstate.extras.fleet.join.blocked import without_blocked
from asyncstate.extras.fleet.join.joined_graph import JoinedGraph
from asyncstate.extras.fleet.join.targets import Need, Place, Resolver, file_of
from asyncstate.extras.fleet.protocol import ORDER, Barrier, Go, RemoteState, Wait
from asyncstate.extras.fleet.rollout.admission import turns_of
from asyncstate.model.dag import Dag
from asyncstate.model.encode import encoded
from asyncstate.model.requisite import RequisiteKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from asyncstate.extras.fleet.protocol import HostPlan

_PREREQ, _PREREQUIRED = RequisiteKind.PREREQ.value, RequisiteKind.PREREQUIRED.value


class Join(msgspec.Struct, frozen=True):
    """``goes`` are the slices by host, ``digest`` names the joined graph. ``turns``: see `RunRecord.turns`.

    ``blocked`` has the reasons why hosts with a plan cannot begin: the target of a requisite is missing, or they wait
    for hosts that do not begin.
    """

    goes: dict[str, Go]
    digest: str
    turns: tuple[tuple[str, ...], ...] = ()
    blocked: dict[str, str] = {}


def join(
    plans: Mapping[str, HostPlan],
    match: Callable[[str], Collection[str]],
    *,
    absent: Mapping[str, str] | None = None,
    canaries: Collection[str] = (),
    batched: bool = False,
    lanes: Mapping[str, int] | None = None,
) -> Join:
    """Join sound plans of hosts.

    ``match`` returns the hosts that fit a target expression; hosts outside the run are named only where no other fits.
    It raises FleetError for a malformed expression.

    ``absent`` are the hosts of the run without a plan, with the reason. The join leaves out hosts that wait for them,
    hosts with a requisite whose target is missing, and hosts that wait for those.

    ``lanes`` has the number of places of each fleet lane with more than one. If hosts are ``batched``, hosts that begin
    later have later turns in lanes, too.

    Raises CompileError with every mistake of every plan, with every missing target if no host is left, and for a canary
    that waits for another host than a canary; CycleError for a cycle.
    """
    ordered = {host: plans[host] for host in sorted(plans)}
    issues = [
        Issue(f"{host}: {each.message}", file_of(host, each.file), each.line, each.hint, code=each.code)
        for host, plan in ordered.items()
        for each in plan.mistakes
    ]
    resolver = Resolver(ordered, match, absent or {})
    needs = list(resolver.needs())
    if issues:
        raise CompileError(issues)
    wrong = {host: "\n".join(map(str, found)) for host, found in resolver.issues.items()}
    needs, blocked = without_blocked(ordered, needs, {**resolver.blocked, **wrong})
    if wrong and blocked.keys() >= ordered.keys():
        raise CompileError([issue for found in resolver.issues.values() for issue in found])
    ordered = {host: plan for host, plan in ordered.items() if host not in blocked}
    graph = JoinedGraph(ordered, needs)
    graph.require_no_cycle()
    _require_canaries_first(ordered, needs, graph.ordered, canaries)
    turns = _turns(ordered, needs, graph.ordered, canaries)
    rank = {host: number for number, turn in enumerate(turns) for host in turn}
    if not batched:
        rank = {host: int(host not in canaries) for host in rank}
    return _Slices(ordered, needs, list(graph.queues(rank, lanes or {})), graph.ordered).join(turns, blocked)


def _links(needs: Iterable[Need]) -> Iterator[tuple[Place, Place, str]]:
    """Yield pairs of states, where the first waits for the second, and the kind of the requisite; listeners, too."""
    for need in needs:
        for target in need.targets:
            yield need.of, target, need.kind
            if need.kind == _PREREQ:
                yield target, need.of, need.kind


def _turns(
    plans: Mapping[str, HostPlan],
    needs: Iterable[Need],
    ordered: Mapping[int, list[Place]],
    canaries: Collection[str],
) -> tuple[tuple[str, ...], ...]:
    hosts = list(plans)
    place = {host: number for number, host in enumerate(hosts)}
    graph = Dag(len(hosts))
    for after, before, _ in _links(needs):
        graph.add(place[before[0]], place[after[0]], "")
    for earlier, later in itertools.pairwise(ordered.values()):
        barrier = graph.add_node()
        for host, _ in earlier:
            graph.add(place[host], barrier, "")
        for host, _ in later:
            graph.add(barrier, place[host], "")
    return turns_of(graph, hosts, canaries)


def _at_barriers(ordered: Mapping[int, list[Place]], canaries: Collection[str]) -> Iterator[tuple[Place, Place, str]]:
    """Yield for each canary that waits at a barrier for another host than a canary: a state of each, and why."""
    first: Place | None = None
    told: set[str] = set()
    for places in ordered.values():
        for place in places:
            if first is not None and place[0] in canaries and place[0] not in told:
                told.add(place[0])
                yield place, first, ORDER
        first = first or next((place for place in places if place[0] not in canaries), None)


def _require_canaries_first(
    plans: Mapping[str, HostPlan],
    needs: Iterable[Need],
    ordered: Mapping[int, list[Place]],
    canaries: Collection[str],
) -> None:
    """Raise CompileError if a canary waits for a host that begins after all canaries have ended."""
    issues: list[Issue] = []
    for after, before, why in itertools.chain(_links(needs), _at_barriers(ordered, canaries)) if canaries else ():
        if after[0] in canaries and before[0] not in canaries:
            state, other = (plans[host].states[chunk] for host, chunk in (after, before))
            issues.append(
                Issue(
                    f"Canary {after[0]} would wait for ever: its state {state.place} waits for {other.place} of host "
                    f"{before[0]} ({why}), which begins only once all canaries have ended",
                    file_of(after[0], state.file),
                    state.line,
                    f"make {before[0]} a canary, too, or {after[0]} none",
                    code="E313",
                )
            )
    if issues:
        raise CompileError(issues)


class _Slices:
    """The slices of the graph: for each host the remote states that it waits for, and the hosts that wait for it."""

    def __init__(
        self,
        plans: Mapping[str, HostPlan],
        needs: Iterable[Need],
        queues: Iterable[tuple[Place, Place]],
        ordered: Mapping[int, list[Place]],
    ) -> None:
        self._plans = plans
        self._remote: dict[str, dict[RemoteState, int]] = {host: {} for host in plans}
        self._waits: dict[str, list[Wait]] = {host: [] for host in plans}
        self._readers: dict[str, dict[str, set[str]]] = {host: {} for host in plans}
        self._follows: dict[str, list[tuple[int, int]]] = {host: [] for host in plans}
        self._remote_follows: dict[str, list[tuple[int, int]]] = {host: [] for host in plans}
        self._barriers: dict[str, list[Barrier]] = {host: [] for host in plans}
        for need in needs:
            self._wait(need.of, need.kind, need.targets, check=need.kind == _PREREQ)
            if need.kind == _PREREQ:
                for target in need.targets:
                    self._wait(target, _PREREQUIRED, (need.of,))
        for before, after in queues:
            if before[0] == after[0]:
                self._follows[after[0]].append((after[1], before[1]))
            else:
                place = self._place(after[0], before, end=True)
                self._remote_follows[after[0]].append((after[1], place))
        for (order, earlier), (_, later) in itertools.pairwise(ordered.items()):
            self._barrier(order, _by_host(earlier), _by_host(later))

    def _place(self, reader: str, target: Place, *, check: bool = False, end: bool = False) -> int:
        """Return the place of a state among those that ``reader`` waits for."""
        host, chunk = target
        state = RemoteState(host, chunk, self._plans[host].states[chunk], check, end)
        self._readers[host].setdefault(state.node, set()).add(reader)
        return self._remote[reader].setdefault(state, len(self._remote[reader]))

    def _wait(self, of: Place, kind: str, targets: Iterable[Place], *, check: bool = False) -> None:
        places = tuple(self._place(of[0], target, check=check) for target in targets)
        self._waits[of[0]].append(Wait(of[1], kind, places))

    def _barrier(self, order: int, earlier: Mapping[str, list[int]], later: Mapping[str, list[int]]) -> None:
        for host in sorted({*earlier, *later}):
            before, after = tuple(earlier.get(host, ())), tuple(later.get(host, ()))
            self._barriers[host].append(Barrier(order, before, after))

    def join(self, turns: tuple[tuple[str, ...], ...], blocked: dict[str, str]) -> Join:
        """Return the slices."""
        goes = {host: self._go(host, plan) for host, plan in self._plans.items()}
        named = encoded([msgspec.structs.replace(go, nonce="") for go in goes.values()])
        digest = hashlib.sha256(named).hexdigest()
        named_alike = {host: msgspec.structs.replace(go, join=digest) for host, go in goes.items()}
        return Join(named_alike, digest, turns, blocked)

    def _go(self, host: str, plan: HostPlan) -> Go:
        return Go(
            run=plan.run,
            host=plan.host,
            nonce=plan.nonce,
            digest=plan.digest,
            remote=tuple(self._remote[host]),
            waits=tuple(self._waits[host]),
            readers={node: tuple(sorted(hosts)) for node, hosts in sorted(self._readers[host].items())},
            follows=tuple(self._follows[host]),
            remote_follows=tuple(self._remote_follows[host]),
            barriers=tuple(self._barriers[host]),
        )


def _by_host(places: Iterable[Place]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for host, chunk in places:
        found.setdefault(host, []).append(chunk)
    return found
