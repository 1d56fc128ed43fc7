"""The join: one graph of the plans of all hosts, checked before anything starts.

It is a pure function of the plans, whatever their order. Requisites on states of other hosts become edges between the
graphs of the hosts; a target that is missing and a cycle are errors with host, file and line. Each host gets its slice:
which of its states wait for which states of others, and who waits for its own.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from asyncstate.errors import CompileError, Issue, MessageRefused
from asyncstate.fleet.joined_graph import REQUISITES, JoinedGraph
from asyncstate.fleet.protocol import Go, RemoteState, Wait
from asyncstate.fleet.rollout import turns_of
from asyncstate.fleet.targets import Need, Place, Resolver, file_of
from asyncstate.model.dag import Dag
from asyncstate.model.requisite import RequisiteKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from asyncstate.fleet.protocol import HostPlan

_MOST_NODES = 5_000_000
_PREREQ, _PREREQUIRED = RequisiteKind.PREREQ.value, RequisiteKind.PREREQUIRED.value


class Join(msgspec.Struct, frozen=True):
    """``goes`` are the slices by host, ``digest`` names the joined graph. ``turns``: see `RunRecord.turns`."""

    goes: dict[str, Go]
    digest: str
    turns: tuple[tuple[str, ...], ...] = ()


def join(
    plans: Mapping[str, HostPlan], match: Callable[[str], Collection[str]], *, canaries: Collection[str] = ()
) -> Join:
    """Join the plans of hosts. ``match`` returns the hosts that fit a target expression; others than these are ignored.

    Raises CompileError with every mistake of every plan and every target that is missing, and if a canary waits for a
    host that is none; CycleError for a cycle, MessageRefused for a plan that cannot be one.
    """
    ordered = {host: plans[host] for host in sorted(plans)}
    for host, plan in ordered.items():
        _require_sound(host, plan)
    issues = [
        Issue(f"{host}: {each.message}", file_of(host, each.file), each.line, each.hint)
        for host, plan in ordered.items()
        for each in plan.mistakes
    ]
    resolver = Resolver(ordered, match)
    needs = list(resolver.needs())
    issues += resolver.issues
    if issues:
        raise CompileError(issues)
    graph = JoinedGraph(ordered, needs)
    graph.require_no_cycle()
    _require_canaries_first(ordered, needs, canaries)
    joined = _slices(ordered, needs)
    return msgspec.structs.replace(joined, turns=_turns(ordered, needs, canaries))


def _links(needs: Iterable[Need]) -> Iterator[tuple[Place, Place, str]]:
    """Yield the pairs of states of which the first waits for the second, a listener's too, and why."""
    for need in needs:
        for target in need.targets:
            yield need.of, target, need.kind
            if need.kind == _PREREQ:
                yield target, need.of, need.kind


def _turns(
    plans: Mapping[str, HostPlan], needs: Iterable[Need], canaries: Collection[str]
) -> tuple[tuple[str, ...], ...]:
    hosts = list(plans)
    place = {host: number for number, host in enumerate(hosts)}
    graph = Dag(len(hosts))
    for after, before, _ in _links(needs):
        graph.add(place[before[0]], place[after[0]], "")
    return turns_of(graph, hosts, canaries)


def _require_canaries_first(plans: Mapping[str, HostPlan], needs: Iterable[Need], canaries: Collection[str]) -> None:
    """Raise CompileError if a canary waits for a host that begins after all canaries have ended."""
    issues: list[Issue] = []
    for after, before, why in _links(needs) if canaries else ():
        if after[0] in canaries and before[0] not in canaries:
            state, other = (plans[host].states[chunk] for host, chunk in (after, before))
            issues.append(
                Issue(
                    f"Canary {after[0]} would wait for ever: its state {state.place} waits for {other.place} of host "
                    f"{before[0]} ({why}), which begins only once all canaries have ended",
                    file_of(after[0], state.file),
                    state.line,
                    f"make {before[0]} a canary, too, or {after[0]} none",
                )
            )
    if issues:
        raise CompileError(issues)


def _require_sound(host: str, plan: HostPlan) -> None:
    states, nodes = len(plan.states), plan.nodes
    sound = (
        states <= nodes <= _MOST_NODES
        and len(plan.edges) == 2 * len(plan.sources)
        and all(0 <= node < nodes for node in plan.edges)
        and all(0 <= chunk < states <= node < nodes for chunk, node in plan.checks)
        and all(0 <= each.chunk < states and each.kind in REQUISITES for each in plan.requires)
    )
    if not sound:
        raise MessageRefused(f"the plan of host {host} is malformed: it refers to states that it does not have")


def _slices(plans: Mapping[str, HostPlan], needs: Iterable[Need]) -> Join:
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
