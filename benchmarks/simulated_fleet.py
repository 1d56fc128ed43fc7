"""Hosts that only wait: real agents, plans and engines, whose states sleep in place of calling plugins.

A `Shape` says who waits for whom. Everything else, from the offer to the last report, is the code that serves real
hosts; a host's disk is a dict.
"""

from __future__ import annotations

import asyncio
import functools
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec

from asyncstate import Settings, StateRuntime
from asyncstate.extras.fleet.host.agent import Agent
from asyncstate.model.requisite import RemoteRequisite
from asyncstate.redact import Secrets
from asyncstate.redact.redacted_plan import RedactedPlan
from asyncstate.run.dispatch import Findings
from asyncstate.run.engine import Engine, RunOptions
from asyncstate.run.rows import not_run_row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
    from types import TracebackType

    from asyncstate.extras.fleet.board import Board
    from asyncstate.extras.fleet.host.partition import Partition
    from asyncstate.extras.fleet.host.peers import Peers
    from asyncstate.extras.fleet.host.station import Kept
    from asyncstate.extras.fleet.protocol import Offer, Verifier
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.event import AnyEvent
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row
    from asyncstate.run.dispatch import ModuleTraits, SharedWork, Supervisor
    from asyncstate.run.machine import Work

SLS = "bench"
_DATABASES = 20
"""One host in so many is a database, in a `fan_in`."""


class Shape(NamedTuple):
    """Hosts with the same number of states each; every state of a host requires the one before it.

    ``kind``: in a ``chain``, state k of a host also requires state k of the host before, in groups of ``length`` hosts;
    in a ``fan_in``, the first state of each other host requires the last ones of all databases; ``independent`` hosts
    have nothing to do with each other. A state takes ``seconds``; every ``failing``-th of a host fails (0: none).
    """

    kind: str
    hosts: int
    states: int
    seconds: float = 0.0
    length: int = 10
    failing: int = 0

    @property
    def names(self) -> list[str]:
        """The hosts."""
        return [f"h{number:06}" for number in range(self.hosts)]

    @property
    def databases(self) -> int:
        """How many of the first hosts are databases."""
        return max(1, self.hosts // _DATABASES)

    def role(self, host: int) -> str:
        """Return the grain ``role`` of a host."""
        return "db" if host < self.databases else "app"

    def remote(self, host: int) -> tuple[RemoteRequisite, ...]:
        """Return the requisites of a host on others, as an SLS would have them."""
        if self.kind == "chain" and host % self.length:
            before = self.names[host - 1]
            return tuple(_required(state, before, f"s{state}") for state in range(self.states))
        if self.kind == "fan_in" and self.role(host) == "app":
            return (_required(0, "G@role:db", f"s{self.states - 1}"),)
        return ()

    def waits_for(self, host: int, state: int) -> list[tuple[int, int]]:
        """Return the states of other hosts that a state waits for: their hosts and numbers."""
        if self.kind == "chain" and host % self.length:
            return [(host - 1, state)]
        if self.kind == "fan_in" and self.role(host) == "app" and not state:
            return [(database, self.states - 1) for database in range(self.databases)]
        return []

    def fails(self, state: int) -> bool:
        """Whether a state fails when it is called."""
        return bool(self.failing) and (state + 1) % self.failing == 0

    def critical_path(self) -> tuple[float, int]:
        """Return the seconds of the longest path through the joined graph, and the most hops between hosts on one."""
        ends: dict[tuple[int, int], tuple[float, int]] = {}
        for host in range(self.hosts):  # no state waits for a host after its own
            for state in range(self.states):
                before = [ends[host, state - 1]] if state else [(0.0, 0)]
                for place in self.waits_for(host, state):
                    seconds, hops = ends[place]
                    before.append((seconds, hops + 1))
                seconds, hops = max(before)
                ends[host, state] = seconds + self.seconds, hops
        return max(ends.values())


def _required(state: int, hosts: str, id_: str) -> RemoteRequisite:
    return RemoteRequisite(state, "require", hosts, "id", id_, False, f"{SLS}.sls", 1)


async def compiled(states: Mapping[str, Sequence[str]], folder: str) -> Plan:
    """Return the plan of states that require others of the same plan, by ID. ``folder`` is for the compiler's use."""
    settings = Settings(file_roots={"base": []}, cachedir=f"{folder}/cache", state_dir=f"{folder}/state", journal="off")
    data = {
        id_: {"test.nop": [{"require": [{"test": each} for each in required]}] if required else []}
        for id_, required in states.items()
    }
    async with StateRuntime(settings) as runtime:
        return await runtime.compile_data(data, sls=SLS)


async def plan_of_a_host(shape: Shape, folder: str) -> Plan:
    """Return the plan that all hosts have but for their requisites on others."""
    return await compiled({f"s{k}": [f"s{k - 1}"] if k else [] for k in range(shape.states)}, folder)


class _Memory:
    """What a host keeps of its runs."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}

    async def load(self) -> dict[str, Kept]:
        return dict(self._kept)

    async def save(self, kept: Kept) -> None:
        self._kept[kept.offer.run] = kept


def agent_of(
    shape: Shape,
    host: int,
    plan: Plan,
    *,
    board: Board,
    verifier: Verifier,
    ready: Callable[[], None],
    calls: list[tuple[str, str]] | None = None,
) -> Agent:
    """Return the agent of a host. ``plan`` is `plan_of_a_host`; ``calls`` takes the host and ID of what is called."""
    name = shape.names[host]
    station = _Station(shape, host, msgspec.structs.replace(plan, remote=shape.remote(host)), calls)
    return Agent(board, name, station, _Memory(), verifier, ready=ready)


class _Station:
    def __init__(self, shape: Shape, host: int, plan: Plan, calls: list[tuple[str, str]] | None) -> None:
        self._shape = shape
        self._host = host
        self._plan = plan
        self._calls = calls

    async def grains(self) -> Mapping[str, Any]:
        return {"role": self._shape.role(self._host), "os": "Debian", "id": self._shape.names[self._host]}

    @asynccontextmanager
    async def prepare(self, offer: Offer) -> AsyncIterator[_Prepared]:
        calls = None if self._calls is None else functools.partial(_note, self._calls, offer.host)
        yield _Prepared(offer, self._plan, self._shape, calls)


def _note(calls: list[tuple[str, str]], host: str, id_: str) -> None:
    calls.append((host, id_))


class _Prepared:
    def __init__(self, offer: Offer, plan: Plan, shape: Shape, called: Callable[[str], None] | None) -> None:
        self.plan = plan
        self.shown = RedactedPlan(plan, Secrets())
        self._offer = offer
        self._shape = shape
        self._called = called

    unfit = ()

    def can_watch(self, _module: str) -> bool:
        return False

    async def past_events(self) -> None:
        return None

    async def start(
        self,
        part: Partition,
        others: Peers,
        observe: Callable[[AnyEvent], None],
        *,
        again: bool,  # noqa: ARG002 - the station's interface
    ) -> _Running:
        dispatch = SleepingDispatch(part.plan, self._shape, self._called)
        options = RunOptions(run_id=f"{self._offer.run}-{self._offer.host}", concurrency=4)
        return _Running(Engine(part.plan, dispatch, options, [observe], elsewhere=others))


class _Running:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self._engine.run()

    def stop(self, reason: str) -> None:
        self._engine.stop(reason)

    def cancel(self, reason: str) -> None:
        self._engine.cancel(reason)


class SleepingDispatch:
    """States that sleep; an `asyncstate.run.dispatch.Dispatch`. The last number of an ID says which state it is."""

    def __init__(self, plan: Plan, shape: Shape, called: Callable[[str], None] | None = None) -> None:
        self._plan = plan
        self._shape = shape
        self._called = called

    def module_traits(self) -> Mapping[str, ModuleTraits]:
        """Declare nothing."""
        return {}

    @contextmanager
    def begin(self, supervisor: Supervisor, rows: Mapping[str, Row], elsewhere: Mapping[str, Row]) -> Iterator[None]:  # noqa: ARG002 - the interface
        """Begin."""
        yield

    async def run_chunk(self, work: Work, chunk: LowChunk) -> Row:
        """Sleep, or say why the state does not run."""
        row = await self._row(work, chunk)
        return {**row, "start_time": "00:00:00.000000", "duration": 0.0, "__id__": chunk.id, "__sls__": chunk.sls}

    async def _row(self, work: Work, chunk: LowChunk) -> Row:
        if not work.verdict.runs:
            failed = [self._plan.chunks[index] for index in work.failed]
            failed += [self._plan.elsewhere[node] for node in work.elsewhere]
            return not_run_row(work.verdict, chunk.name, failed)
        if self._called is not None:
            self._called(chunk.id)
        if self._shape.seconds:
            await asyncio.sleep(self._shape.seconds)
        number = int(chunk.id.rpartition("s")[2])
        return {
            "name": chunk.name,
            "changes": {"slept": self._shape.seconds},
            "result": not self._shape.fails(number),
            "comment": "It slept",
        }

    def recall(self, work: Work, chunk: LowChunk, row: Row, shared: SharedWork | None) -> None:
        """Forget nothing, for there is nothing to forget."""

    def findings(self) -> Findings:
        """Return nothing."""
        return Findings()

    async def aggregate(self, members: tuple[int, ...]) -> None:
        """Aggregate nothing."""
