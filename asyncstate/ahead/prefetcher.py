"""Prefetching beside the work of a run: starts fetches for later states, and holds back those that are too early.

    waiting ──what it waits for has ended──▶ ready ──a place is free──▶ running ──▶ ended
       │                                       ▲ │                         │
       │                            announced  │ ▼ too early               │
       │                                       later                       │
       ╰── its chunk starts, or is already known not to run: dropped ──────╯ cancelled if it is known not to run

A fetch is a guess that costs only its time. What a chunk needs to *run* may still be missing when its fetch starts: a
fetch waits only for what it reads, and for requisites that may show that the chunk does not run. A chunk that starts
while its fetch runs is not held up here; its module waits for the fetch.

Fetches are tasks of asyncio, like the workers of a run: the run waits for their end only for a while.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import suppress
from contextvars import Context, copy_context
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from asyncstate.guard.event_loop import unwind
from asyncstate.model.dag import FOOTPRINT
from asyncstate.model.event import PrefetchEnded, PrefetchStarted
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind
from asyncstate.model.walk import stands_for
from asyncstate.run.dispatch import GRACE
from asyncstate.run.outcomes import DECIDING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from asyncstate.logs.fields import RunFields
    from asyncstate.model.plan import Plan
    from asyncstate.run.machine import Machine
    from asyncstate.run.recorder import Announcer

_GROUP = NodeKind.GROUP
_TURN = 0.002
"""Seconds that the workers have to take ready work."""
_REQUISITES = frozenset(kind.value for kind in RequisiteKind)
_PATH, _TREE, _ENTRY = "path:", "/**", "#"


class Fetch(msgspec.Struct, frozen=True):
    """A prefetch: something that a chunk (an index) will use, and that can be cached before the chunk starts.

    ``function`` is the execution function that fetches it, with these ``arguments``; if fetches go ``together``, it
    gets a list of the arguments of each. ``what`` describes it in events. ``reads`` are the resources that the fetch
    depends on, as in a footprint: with any, the fetch waits for the states that write them, and for what the chunk
    requires.
    """

    chunk: int
    function: str
    arguments: dict[str, Any] = {}
    what: str = ""
    reads: tuple[str, ...] = ()
    together: bool = False


class Fetched(msgspec.Struct, frozen=True):
    """The result of a fetch: ``result`` and ``text`` of `PrefetchEnded`; the ``topic`` it waits for to start again."""

    result: str
    text: str = ""
    topic: str = ""


class Fetcher(Protocol):
    """Prefetches for the chunks of one run. All but `fetches` is called on the event loop of the run."""

    def fetches(self) -> Sequence[Fetch]:
        """Return the possible prefetches, as the state modules of the plan declare them.

        Called once before the run begins, in a thread if one can start. Never raises because of a module.
        """

    def announce_to(self, announced: Callable[[str], None]) -> None:
        """Have ``announced`` called, by any thread, with the `Fetched.topic` of a fetch that may start again."""

    async def fetch(self, fetches: Sequence[Fetch]) -> Fetched:
        """Fetch one thing; or several that go together, in one call.

        Raises only CancelledError, after it has ended what it started. A chunk that uses the result may start
        meanwhile.
        """

    async def forget(self) -> None:
        """Remove unused results. Called once, after the last chunk and the last fetch."""


class PrefetchQueue:
    """Decides which fetch is next, without clock, loop or events."""

    def __init__(self, machine: Machine, fetches: Sequence[Fetch]) -> None:
        self._machine = machine
        self._fetches = fetches
        self._rank = machine.plan.rank
        self._group = {
            member: number
            for number, node in enumerate(machine.plan.nodes)
            if node.kind is _GROUP and node.transaction
            for member in node.members
        }
        self._of_chunk: defaultdict[int, list[int]] = defaultdict(list)
        self._waiters: defaultdict[int, list[int]] = defaultdict(list)
        self._waits: list[int] = []
        self._later: defaultdict[str, list[int]] = defaultdict(list)
        self._announced: set[str] = set()
        self._ready: list[tuple[int, int]] = []
        self._over: set[int] = set()
        self._busy: set[str] = set()
        for number, fetch in enumerate(fetches):
            self._of_chunk[fetch.chunk].append(number)
            needed = [node for node in nodes_needed(machine.plan, fetch) if machine.outcomes.of(node) is None]
            self._waits.append(len(needed))
            for node in needed:
                self._waiters[node].append(number)
            if not needed:
                self._make_ready(number)

    def take(self) -> list[int]:
        """Return the numbers of the fetches that one call should do next; empty if there are none now.

        It is one fetch, or several that go together, because one transaction will use their results. Of a function
        whose fetches may go together, only one call runs at a time.
        """
        put_back = []
        taken: list[int] = []
        while self._ready and not taken:
            entry = heappop(self._ready)
            number = entry[1]
            fetch = self._fetches[number]
            if number in self._over or self.is_useless(number):
                self._over.add(number)
            elif fetch.together and fetch.function in self._busy:
                put_back.append(entry)
            else:
                taken = [number]
        for entry in put_back:
            heappush(self._ready, entry)
        if taken and self._fetches[taken[0]].together:
            taken += self._with(taken[0])
            self._busy.add(self._fetches[taken[0]].function)
        self._over.update(taken)
        return taken

    def started(self, chunk: int) -> None:
        """Record that a chunk starts: its fetches that have not started are dropped.

        The first member of a transaction does the work of all, so fetches that go together are dropped for all members.
        """
        self._over.update(self._of_chunk.get(chunk, ()))
        for member in self._members(chunk):
            self._over.update(number for number in self._of_chunk.get(member, ()) if self._fetches[number].together)

    def ended(self, node: int) -> None:
        """Record that a node of the plan has ended."""
        for number in self._waiters.pop(node, ()):
            self._waits[number] -= 1
            if not self._waits[number]:
                self._make_ready(number)

    def announced(self, topic: str) -> None:
        """Record the announcement that some fetches waited for."""
        self._announced.add(topic)
        for number in self._later.pop(topic, ()):
            self._make_ready(number)

    def done(self, numbers: Sequence[int], topic: str = "") -> None:
        """Record the end of a call; with a ``topic`` its fetches start again when that is announced."""
        self._busy.discard(self._fetches[numbers[0]].function)
        if not topic:
            return
        for number in numbers:
            if not self._has_begun(self._fetches[number]):
                self._over.discard(number)
                self._make_ready(number) if topic in self._announced else self._later[topic].append(number)
        self._announced.discard(topic)

    def is_useless(self, number: int) -> bool:
        """Whether the chunk of a fetch is known not to run."""
        return bool(self._machine.stopped) or self._machine.outcomes.exclude(self._fetches[number].chunk)

    def _has_begun(self, fetch: Fetch) -> bool:
        """Whether the work that would use a fetch has begun."""
        members = self._members(fetch.chunk) if fetch.together else ()
        return any(self._machine.has_started(chunk) for chunk in (fetch.chunk, *members))

    def _members(self, chunk: int) -> Sequence[int]:
        """Return the chunks of the transaction that a chunk is in; empty if it is in none."""
        group = self._group.get(chunk)
        return () if group is None else self._machine.plan.nodes[group].members

    def _make_ready(self, number: int) -> None:
        heappush(self._ready, (self._rank[self._fetches[number].chunk], number))

    def _with(self, first: int) -> list[int]:
        """Return the other ready fetches of the same function for the same transaction, in serial order."""
        own = self._fetches[first]
        group = self._group.get(own.chunk)
        if group is None:
            return []
        return [
            number
            for _, number in sorted(self._ready)
            if number not in self._over
            and self._fetches[number].function == own.function
            and self._fetches[number].together
            and self._group.get(self._fetches[number].chunk) == group
            and not self.is_useless(number)
        ]


def nodes_needed(plan: Plan, fetch: Fetch) -> set[int]:
    """Return the nodes that must end before a fetch starts.

    These are the targets of requisites that decide whether the chunk runs at all; and, if the fetch reads anything, the
    states that write it or that the chunk requires, except for states of the chunk's own module.
    """

    def meant(nodes: Iterable[int]) -> Iterator[int]:
        return (node for node in stands_for(plan, nodes) if plan.nodes[node].kind is not NodeKind.REMOTE)

    own = plan.chunks[fetch.chunk]
    needed = set(meant(each.node for each in plan.requisites[fetch.chunk] if each.kind.family in DECIDING))
    for before in plan.dag.predecessors(fetch.chunk) if fetch.reads else ():
        sources = plan.dag.sources(before, fetch.chunk)
        if not _REQUISITES.isdisjoint(sources):
            needed.update(node for node in meant([before]) if plan.chunk_of(node).state != own.state)
        elif FOOTPRINT in sources and _touches(plan.dag.resources(before, fetch.chunk), fetch.reads):
            needed.update(meant([before]))
    return needed - {fetch.chunk}


def _touches(resources: Iterable[str], names: Iterable[str]) -> bool:
    """Whether any resource equals, contains or is inside one of the named ones."""
    return any(_meet(resource, name) for resource in resources for name in names)


def _meet(one: str, other: str) -> bool:
    one, other = (name.partition(_ENTRY)[0].removesuffix(_TREE) for name in (one, other))
    if one == other or not (one.startswith(_PATH) and other.startswith(_PATH)):
        return one == other
    return one.startswith(f"{other}/") or other.startswith(f"{one}/")


class Prefetcher:
    """Runs the ``fetches`` of a fetcher on the loop of the run, at most ``places`` at once; an `Ahead`."""

    def __init__(
        self,
        machine: Machine,
        fetcher: Fetcher,
        fetches: Sequence[Fetch],
        *,
        places: int,
        announcer: Announcer,
        log_fields: RunFields,
    ) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self.fetches = fetches
        self._queue = PrefetchQueue(machine, fetches)
        fetcher.announce_to(self._announce)
        self._machine = machine
        self._fetcher = fetcher
        self._places = places
        self._announcer = announcer
        self._log_fields = log_fields
        self._context = Context()
        self._running: dict[asyncio.Task[None], list[int]] = {}
        self._contexts: dict[asyncio.Task[None], Context] = {}
        self._filling = False
        self._closed = False

    def begin(self) -> None:
        """Start fetches, after the chunks that are ready now have started.

        They all run in copies of the present context, not in the context of the chunk whose end frees a place.
        """
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._fill_soon()

    def started(self, chunk: int) -> None:
        """Record that a chunk starts."""
        self._queue.started(chunk)

    def ended(self, node: int) -> None:
        """Record that a node of the plan has ended; cancel the fetches for chunks that it keeps from running."""
        self._queue.ended(node)
        for task, numbers in self._running.items():
            if all(self._queue.is_useless(number) for number in numbers):
                task.cancel("its state will not run")
        self._fill_soon()

    def _announce(self, topic: str) -> None:
        """Start the fetches that waited for a topic. May be called from any thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: a call outlived the run
                self._loop.call_soon_threadsafe(self._announced, topic)

    def _announced(self, topic: str) -> None:
        self._queue.announced(topic)
        self._fill_soon()

    def stop(self) -> None:
        """Start nothing more, and cancel running fetches."""
        self._closed = True
        for task in self._running:
            task.cancel("the run ends")

    async def close(self) -> None:
        """Do what `stop` does, wait for the end, at most `GRACE` seconds, and remove unused results."""
        self.stop()
        if self._running:
            await asyncio.wait(set(self._running), timeout=GRACE)
        await self._fetcher.forget()

    def abandon(self, reason: str) -> None:
        """Do what `stop` does, without the closed loop."""
        self._closed = True
        for task, context in list(self._contexts.items()):
            context.run(unwind, task, reason)
        self._running.clear()

    def _fill_soon(self) -> None:
        """Fill the places after the workers' turn: a chunk that starts now needs no prefetch."""
        if not self._filling and not self._closed:
            self._filling = True
            asyncio.get_running_loop().call_later(_TURN, self._fill)

    def _fill(self) -> None:
        self._filling = False
        while not self._closed and len(self._running) < self._places:
            numbers = self._queue.take()
            if not numbers:
                return
            context = self._context.copy()
            task = asyncio.get_running_loop().create_task(self._run(numbers), context=context)
            self._running[task] = numbers
            self._contexts[task] = context
            task.add_done_callback(self._task_ended)

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task], self._contexts[task]
        if not task.cancelled():
            task.result()
        self._fill_soon()

    async def _run(self, numbers: list[int]) -> None:
        fetches = [self.fetches[number] for number in numbers]
        chunks = [self._machine.plan.chunks[fetch.chunk] for fetch in fetches]
        logged = next((chunk for chunk in chunks if chunk.args.get("no_log")), chunks[0])
        self._log_fields.begin(logged, logged.tag)
        for fetch in fetches:
            self._say(PrefetchStarted, fetch)
        came = Fetched("cancelled")
        try:
            came = await self._fetcher.fetch(fetches)
        finally:
            self._queue.done(numbers, came.topic)
            for fetch in fetches:
                self._say(PrefetchEnded, fetch, result=came.result, text=came.text)

    def _say(self, kind: type[PrefetchStarted | PrefetchEnded], fetch: Fetch, **fields: str) -> None:
        if self._announcer.heard:
            self._announcer.emit(kind, tag=self._machine.plan.chunks[fetch.chunk].tag, what=fetch.what, **fields)
