"""Agent: takes part in runs for one host, from the offer to the last report.

    offers ─▶ a Member for each run ─▶ its plan, go and end, kept on disk

The files let an agent that was killed go on with its runs: a state that ended does not run again.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from asyncstate._version import __version__
from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.board import first_error
from asyncstate.extras.fleet.errors import BoardError, BoardRefused, MessageRefused
from asyncstate.extras.fleet.events import HostEvents
from asyncstate.extras.fleet.host.member import Member
from asyncstate.extras.fleet.host.station import Kept
from asyncstate.extras.fleet.protocol import (
    HostInfo,
    HostPlan,
    Lease,
    Mistake,
    Offer,
    decode,
    encode,
    require_fields,
    two_machines,
)
from asyncstate.logs import get_logger

if TYPE_CHECKING:
    import logging
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

    from anyio.abc import TaskGroup

    from asyncstate.extras.fleet.board import Board
    from asyncstate.extras.fleet.host.station import Memory, Station
    from asyncstate.extras.fleet.protocol import Verifier
    from asyncstate.model.plan import Plan

log: logging.Logger = get_logger(__name__)

_ANEW = 720
"""The number of signs of life after which a host republishes its grains: they change, and a board drops old entries.

It does so at once if its last sign of life is gone: then somebody has removed its messages."""
LEASE = 5.0
"""Seconds between two signs of life."""
_SHARE = 5
_QUIET = 3
"""Number of signs of life of this host after which a silent twin counts as gone."""
_LONGEST = 12
"""The interval of signs of life is `_SHARE` times the duration of the last one, at most `_LONGEST` times the usual."""


class _Twin:
    """Another machine with the credentials of this host, such as a clone: it renews the same lease.

    ``where`` names it, "" as long as there is none.
    """

    def __init__(self, boot: str) -> None:
        self._boot = boot
        self._before: Lease | None = None
        self._looked = 0
        self._quiet = 0
        self.where = ""

    def look(self, found: Lease | None) -> None:
        """Update ``where`` by the lease on the board, before this process renews its own."""
        self._looked += 1
        if self._looked == 1:
            self._before = found  # left by an earlier process, unless it is renewed again
        elif found is None or found.boot == self._boot:
            self._quiet += 1
            if self._quiet >= _QUIET:
                self.where = ""
        elif self._before is None or found.boot != self._before.boot or found.beat > self._before.beat:
            self._quiet = 0
            self.where = found.where or "another machine"


class Agent:
    """The agent of one host.

    ``accept(offer)`` returns the reason to refuse an offer, else ""; it raises MessageRefused for a possible
    repetition, as its answer must not replace an earlier one. ``allow(offer, plan)`` returns the reason why a plan may
    not run. ``ready`` is called once the host takes offers. ``beside`` are further tasks that use the board; they raise
    nothing.
    """

    def __init__(
        self,
        board: Board,
        host: str,
        station: Station,
        memory: Memory,
        verifier: Verifier,
        *,
        accept: Callable[[Offer], str] = lambda _: "",
        allow: Callable[[Offer, Plan], list[str]] = lambda _offer, _plan: [],
        lease: float = LEASE,
        draw: Callable[[], str] = lambda: os.urandom(16).hex(),
        ready: Callable[[], None] = lambda: None,
        beside: Sequence[Callable[[Board], Coroutine[Any, Any, None]]] = (),
    ) -> None:
        self.board = board
        self.host = host
        self.station = station
        self.verifier = verifier
        self.draw = draw
        self.allow = allow
        self._memory = memory
        self._ready = ready
        self._beside = beside
        self._accept = accept
        self._lease = lease
        self._kept: dict[str, Kept] = {}
        self._begun: set[str] = set()
        self._parts: set[str] = set()
        self._idle = anyio.Event()
        self._where = ""
        self._twin = _Twin("")
        self.running: str = ""
        """The run whose states run now, at most one."""
        self.called: set[str] = set()
        """The runs whose functions run now, concurrently with each other and with the run of states."""

    async def serve(self) -> None:
        """Take part in runs until cancelled. Raises BoardError once reconnecting to the board has been given up."""
        self._kept = await self._memory.load()
        lost: list[BoardError] = []
        async with self.board:
            try:
                async with anyio.create_task_group() as group:
                    await self._introduce()
                    group.start_soon(self.unless_running, self._renew_lease)
                    for task in self._beside:
                        group.start_soon(task, self.board)
                    for kept in list(self._kept.values()):
                        if kept.go and not kept.ended:
                            self._take_part(group, kept.offer)
                    await HostEvents(self.board, self.host).fire(f"salt/minion/{self.host}/start", {})
                    self._ready()
                    await self.unless_running(lambda: self._take_offers(group))
            except* BoardError as errors:
                lost.append(first_error(errors))
        if lost:
            raise lost[0]

    async def _take_offers(self, group: TaskGroup) -> None:
        async for entry in self.board.watch(subjects.offer(self.host)):
            try:
                _, _, run = subjects.parts(entry.key)
            except ValueError as error:
                log.warning("An offer at %s is refused: %s", entry.key, error)
                continue
            try:
                offer = self._read_offer(run, entry.key, entry.value)
            except MessageRefused as error:
                group.start_soon(self.unless_running, partial(self.decline, run, str(error)))
                continue
            if offer is not None:
                self._take_part(group, offer)

    def _take_part(self, group: TaskGroup, offer: Offer) -> None:
        self._begun.add(offer.run)
        self._parts.add(offer.run)

        async def part() -> None:
            try:
                await Member(self, offer).take_part()
            finally:
                self._parts.discard(offer.run)

        group.start_soon(self.unless_running, part)

    async def unless_running(self, task: Callable[[], Awaitable[None]]) -> None:
        """Do a task. If it gives up the board, running states come to their end before BoardError is raised."""
        lost: list[BoardError] = []
        try:
            await task()
        except* BoardError as errors:
            lost.append(first_error(errors))
        if lost:
            while self.running or self.called:
                await self._idle.wait()
            raise lost[0]

    def has_run(self, run: str) -> None:
        """Note that this host has finished with a run."""
        self.called.discard(run)
        if self.running == run:
            self.running = ""
        self._idle.set()
        self._idle = anyio.Event()

    async def _introduce(self) -> None:
        grains = await self.station.grains()
        self._where = _where(grains)
        info = HostInfo(host=self.host, grains=dict(grains), version=__version__)
        await self.board.put(subjects.host(self.host), encode(info))

    async def _renew_lease(self) -> None:
        """Renew the lease. A busy server gets it less often; the lease has the interval."""
        boot, beat, interval = self.draw(), 0, self._lease
        self._twin = _Twin(boot)
        while True:
            began = anyio.current_time()
            runs = tuple(sorted(self._parts))
            lease = Lease(host=self.host, boot=boot, beat=beat, interval=interval, where=self._where, runs=runs)
            beat += 1
            try:
                was_there = await self._look_for_a_twin()
                await self.board.put(subjects.lease(self.host), encode(lease))
                if not beat % _ANEW or (beat > 1 and not was_there):
                    await self._introduce()
            except BoardRefused as error:
                log.warning("The sign of life of this host is refused: %s", error)
            promised, took = interval, anyio.current_time() - began
            interval = min(max(self._lease, _SHARE * took), _LONGEST * self._lease)
            await anyio.sleep(promised)

    async def _look_for_a_twin(self) -> bool:
        """Look who renewed the lease of this host last; return whether there is one on the board."""
        known, found = self._twin.where, await self.board.get(subjects.lease(self.host))
        try:
            self._twin.look(None if found is None else decode(found, Lease))
        except MessageRefused as error:
            log.warning("The lease of this host on the board is refused: %s", error)
        if self._twin.where and not known:
            log.error("%s", self._two_machines())
        return found is not None

    async def has_twin(self) -> bool:
        """Whether another machine renews the lease of this host: waits until it must have done so."""
        if not self._twin.where:
            await anyio.sleep(2 * self._lease)
        return bool(self._twin.where)

    def _two_machines(self) -> str:
        return two_machines(self.host, self._where, self._twin.where)

    async def decline(self, run: str, why: str) -> None:
        """Tell the operator of a run the reason for refusing its offer, unless this host has answered it already."""
        log.warning("The offer of run %s is refused: %s", run, why)
        mistake = Mistake(f"this host refuses the offer: {why}")
        plan = HostPlan(run=run, host=self.host, nonce=self.draw(), mistakes=(mistake,))
        key = subjects.plan(self.host, run)
        try:
            if await self.board.get(key) is None:
                await self.board.put(key, encode(plan))
        except BoardRefused as error:
            log.warning("That run %s is refused cannot be told: %s", run, error)

    def _read_offer(self, run: str, key: str, value: bytes) -> Offer | None:
        """Return an offer, None for one that is under way or over. Raises MessageRefused."""
        if run in self._begun:
            return None
        offer = decode(self.verifier.open(value, key), Offer)
        require_fields(offer, run=run, host=self.host)
        kept = self._kept.get(run)
        return None if kept is not None and kept.ended else offer

    def kept(self, offer: Offer) -> Kept | None:
        """Return the stored state of a run, None for a new one."""
        return self._kept.get(offer.run)

    def accept(self, offer: Offer) -> str:
        """Return the reason to refuse an offer, else "". Raises MessageRefused for a possible repetition."""
        if self._twin.where:
            raise MessageRefused(self._two_machines())
        return self._accept(offer)

    async def keep(self, kept: Kept) -> Kept:
        """Store the state of a run, on disk before it returns; without arguments and pillar once the run has ended."""
        if kept.ended:
            offer = Offer(run=kept.offer.run, host=kept.offer.host, issued=kept.offer.issued)
            kept = Kept(offer=offer, attempt=kept.attempt, ended=kept.ended)
        await self._memory.save(kept)
        self._kept[kept.offer.run] = kept
        return kept


def _where(grains: Mapping[str, Any]) -> str:
    """Return the name and the addresses of this machine, which tell it from a clone."""
    addresses = [str(each) for each in grains.get("ipv4") or () if not str(each).startswith("127.")]
    return " ".join([str(grains.get("nodename") or "a machine"), *addresses[:3]])
