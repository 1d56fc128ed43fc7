"""Agent: takes part in runs for one host, from the offer to the last report.

    offers ─▶ a Member for each run ─▶ what it has promised and done, kept on disk

What it has promised and done is kept, so that an agent that was killed goes on: a state that ended does not run again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import anyio

from asyncstate._version import __version__
from asyncstate.errors import BoardError, BoardRefused, MessageRefused
from asyncstate.fleet import subjects
from asyncstate.fleet.board import first_error
from asyncstate.fleet.events import HostEvents
from asyncstate.fleet.host.member import Member
from asyncstate.fleet.host.station import Kept
from asyncstate.fleet.protocol import HostInfo, Lease, Offer, decode, encode, require_fields
from asyncstate.logs.loggers import get_logger

if TYPE_CHECKING:
    import logging
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from anyio.abc import TaskGroup

    from asyncstate.fleet.board import Board
    from asyncstate.fleet.host.station import Memory, Station
    from asyncstate.fleet.protocol import Verifier
    from asyncstate.model.plan import Plan

log: logging.Logger = get_logger(__name__)

_ANEW = 720
"""After so many signs of life a host says anew what it is: grains change, and a board forgets what is old."""
LEASE = 5.0
"""Seconds between two signs of life."""
_SHARE = 5
_LONGEST = 12
"""A sign of life comes after so many times what the last one took, and after so many times the usual at the latest."""


class Agent:
    """The agent of one host.

    ``accept(offer)`` returns why an offer is not taken, "" if it is; it raises MessageRefused for one that is to be
    passed over in silence, such as an old one. ``allow(offer, plan)`` returns why a plan may not run. ``ready`` is
    called once the host takes offers. ``beside`` are tasks that go on meanwhile with the board; they raise nothing.
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
        self._idle = anyio.Event()
        self.running: str = ""
        """The run whose states run now. A host takes part in one at a time."""
        self.called: set[str] = set()
        """The runs whose functions are called now: beside each other, and beside the run of states."""

    async def serve(self) -> None:
        """Take part in runs until cancelled. Raises BoardError once the board has been given up."""
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
            offer = self._read_offer(entry.key, entry.value)
            if offer is not None:
                self._take_part(group, offer)

    def _take_part(self, group: TaskGroup, offer: Offer) -> None:
        self._begun.add(offer.run)
        group.start_soon(self.unless_running, Member(self, offer).take_part)

    async def unless_running(self, task: Callable[[], Awaitable[None]]) -> None:
        """Do a task. If the board is given up, what runs comes to its end before BoardError is raised."""
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
        """Note that nothing of this run goes on here any more."""
        self.called.discard(run)
        if self.running == run:
            self.running = ""
        self._idle.set()
        self._idle = anyio.Event()

    async def _introduce(self) -> None:
        grains = await self.station.grains()
        info = HostInfo(host=self.host, grains=dict(grains), version=__version__)
        await self.board.put(subjects.host(self.host), encode(info))

    async def _renew_lease(self) -> None:
        """Say that the host is there. A busy server hears it less often, and everybody knows how often."""
        boot, beat, interval = self.draw(), 0, self._lease
        while True:
            began = anyio.current_time()
            lease = Lease(host=self.host, boot=boot, beat=beat, interval=interval)
            beat += 1
            try:
                await self.board.put(subjects.lease(self.host), encode(lease))
                if not beat % _ANEW:
                    await self._introduce()
            except BoardRefused as error:
                log.warning("The sign of life of this host is refused: %s", error)
            promised, took = interval, anyio.current_time() - began
            interval = min(max(self._lease, _SHARE * took), _LONGEST * self._lease)
            await anyio.sleep(promised)

    def _read_offer(self, key: str, value: bytes) -> Offer | None:
        """Return an offer that is not under way, None for one that is refused."""
        try:
            _, _, run = subjects.parts(key)
            if run in self._begun:
                return None
            offer = decode(self.verifier.open(value, key), Offer)
            require_fields(offer, run=run, host=self.host)
        except (MessageRefused, ValueError) as error:
            log.warning("An offer at %s is refused: %s", key, error)
            return None
        kept = self._kept.get(run)
        return None if kept is not None and kept.ended else offer

    def kept(self, offer: Offer) -> Kept | None:
        """Return what is kept of a run, None for a new one."""
        return self._kept.get(offer.run)

    def accept(self, offer: Offer) -> str:
        """Return why an offer is not taken, "" if it is. Raises MessageRefused for one to be passed over."""
        return self._accept(offer)

    async def keep(self, kept: Kept) -> Kept:
        """Keep this of a run, on disk before it returns; of one that ended, neither its arguments nor its pillar."""
        if kept.ended:
            offer = Offer(run=kept.offer.run, host=kept.offer.host, issued=kept.offer.issued)
            kept = Kept(offer=offer, attempt=kept.attempt, ended=kept.ended)
        await self._memory.save(kept)
        self._kept[kept.offer.run] = kept
        return kept
