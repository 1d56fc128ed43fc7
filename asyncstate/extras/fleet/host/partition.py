"""A host's part of a fleet run: the public part of its plan, and the plan that its engine runs.

Plan ──host_plan──▶ HostPlan ──(join)──▶ Go ──part_of──▶ Part: a Plan with REMOTE nodes
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from asyncstate.extras.fleet.errors import MessageRefused
from asyncstate.extras.fleet.protocol import LANE, ORDER, TESTED, HostPlan, State, node_name
from asyncstate.model.encode import encoded
from asyncstate.model.extension import Extension
from asyncstate.model.plan import Plan
from asyncstate.model.requisite import RequisiteKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from asyncstate.extras.fleet.protocol import Barrier, Go, RemoteState, Wait
    from asyncstate.model.chunk import Declared


class Shown(Protocol):
    """A plan as shown to others, without secrets; different states have different names."""

    @property
    def digest(self) -> str:
        """The digest of the shown plan."""

    def chunk(self, chunk: Any, tag: str) -> Declared:
        """Return the chunk of a (true) tag with the names that are shown."""

    def tag(self, tag: str) -> str:
        """Return a (true) tag as it is shown."""

    def text(self, text: str) -> str:
        """Return a text without secrets."""


def host_plan(plan: Plan, shown: Shown, *, run: str, host: str, nonce: str, unfit: tuple[str, ...] = ()) -> HostPlan:
    """Return the public part of a plan: names, places and edges, without arguments and secrets.

    ``unfit`` are the exclusions of the run that fit nothing here.
    """
    edges: list[int] = []
    sources: list[str] = []
    for before, after, why in plan.each_edge():
        edges += (before, after)
        sources.append(",".join(why))
    return HostPlan(
        run=run,
        host=host,
        nonce=nonce,
        digest=shown.digest,
        states=tuple(_state(shown.chunk(chunk, chunk.tag), chunk) for chunk in plan.chunks),
        nodes=len(plan.nodes),
        edges=tuple(edges),
        sources=tuple(sources),
        requires=tuple(msgspec.structs.replace(each, value=shown.text(each.value)) for each in plan.remote),
        checks=tuple(plan.checks.items()),
        orders=tuple((chunk.index, chunk.args[ORDER]) for chunk in plan.chunks if ORDER in chunk.args),
        unfit=unfit,
        lanes=tuple((chunk.index, shown.text(lane)) for chunk in plan.chunks for lane in _lanes(chunk.args)),
    )


def _lanes(args: Mapping[str, Any]) -> list[str]:
    named = args.get(LANE, [])
    return sorted(set(named)) if isinstance(named, list) else [named]


def _state(shown: Declared, chunk: Declared) -> State:
    return State(
        chunk.state, chunk.fun, shown.id, str(shown.name), shown.sls, chunk.file, chunk.line, chunk.included_from
    )


class Partition(msgspec.Struct, frozen=True):
    """``plan`` is for the engine. ``remote`` has its REMOTE nodes, by host and name on the board.

    ``read`` has the names on the board that others wait for: the node of this host, and the hosts. ``ordering`` are the
    REMOTE nodes that only order states, whatever their outcome; ``barriers`` has the REMOTE nodes of barriers, and
    ``before`` the nodes that end before a barrier.
    """

    plan: Plan
    remote: dict[tuple[str, str], int]
    read: dict[str, tuple[int, tuple[str, ...]]]
    ordering: frozenset[int] = frozenset()
    barriers: dict[int, int] = {}
    before: dict[int, tuple[int, ...]] = {}


def partition_of(plan: Plan, shown: Shown, go: Go, *, can_watch: Callable[[str], bool]) -> Partition:
    """Return the plan with REMOTE nodes for the states of other hosts in a go.

    ``can_watch`` returns whether a state module has ``mod_watch``: without it, a watch becomes a require, as always.
    Raises MessageRefused if the go is not for this plan.
    """
    if go.digest != shown.digest:
        raise MessageRefused(f"the go of run {go.run} is for another plan of {go.host} than the one that was sent")
    try:
        return _partition(Extension(plan), plan, go, can_watch)
    except (IndexError, KeyError, ValueError) as error:
        raise MessageRefused(f"the go of run {go.run} names what the plan of {go.host} has not: {error}") from None


def _partition(whole: Extension, plan: Plan, go: Go, can_watch: Callable[[str], bool]) -> Partition:
    for name in go.readers:
        if name.startswith("c"):
            whole.add_check(int(name[1:]), TESTED)
    remote = [_add_remote(whole, each) for each in go.remote]
    for wait in sorted(go.waits, key=lambda wait: wait.kind == RequisiteKind.LISTEN):
        _wait(whole, plan, wait, [remote[place] for place in wait.remote], can_watch)
    for after, before in go.follows:
        whole.follow(plan.chunks[before].index, plan.chunks[after].index, LANE)
    for after, place in go.remote_follows:
        whole.order(remote[place], after, LANE)
    barriers = {each.order: _add_barrier(whole, each) for each in go.barriers if each.after}
    names = {str(chunk.index): chunk.index for chunk in plan.chunks}
    names |= {node_name(chunk.index, end=True): chunk.index for chunk in plan.chunks}
    names |= {node_name(chunk, check=True): node for chunk, node in whole.checks.items()}
    states = encoded([(each.host, each.node, each.state) for each in go.remote])
    return Partition(
        whole.plan(states + encoded([go.follows, go.remote_follows, go.barriers])),
        {(each.host, each.node): number for each, number in zip(go.remote, remote, strict=True)},
        {name: (names[name], readers) for name, readers in go.readers.items()},
        frozenset(number for each, number in zip(go.remote, remote, strict=True) if each.end)
        | frozenset(barriers.values()),
        barriers,
        {each.order: each.before for each in go.barriers if each.before},
    )


def _add_barrier(whole: Extension, barrier: Barrier) -> int:
    """Add the node that the states after a barrier wait for."""
    text = str(barrier.order)
    node = whole.add_remote(State("fleet", "order", text, text, ORDER), f"{ORDER} {text}", "")
    for chunk in barrier.after:
        whole.order(node, chunk, ORDER)
    return node


def _add_remote(whole: Extension, remote: RemoteState) -> int:
    state = remote.state
    file = f"{remote.host}:{state.file}" if state.file else ""
    return whole.add_remote(state, f"{remote.host}: {'check ' if remote.check else ''}{state.tag}", file)


def _wait(whole: Extension, plan: Plan, wait: Wait, remote: list[int], can_watch: Callable[[str], bool]) -> None:
    chunk, kind = plan.chunks[wait.chunk], RequisiteKind(wait.kind)
    if kind is RequisiteKind.LISTEN:
        whole.listen(chunk.index, remote)
        return
    if kind.family is RequisiteKind.WATCH and not can_watch(chunk.state):
        kind = RequisiteKind(kind.value.replace("watch", "require"))
    whole.require(chunk.index, kind, remote)
