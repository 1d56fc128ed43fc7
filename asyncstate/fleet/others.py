"""Others: the other hosts of a run, as the engine of one host sees them, fed from the board.

rows, notices of loss ──▶ arrivals ──▶ the machine's REMOTE nodes
nodes that end ──▶ outbox ──▶ rows for the hosts that wait for them
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from asyncstate.errors import MessageRefused
from asyncstate.fleet import subjects
from asyncstate.fleet.protocol import Lost, NodeResult, Pulse, decode, encode, require_fields
from asyncstate.logs.loggers import get_logger
from asyncstate.model.result import Outcome

if TYPE_CHECKING:
    import logging
    from collections.abc import AsyncGenerator, Callable, Iterable

    from asyncstate.fleet.board import Board, Entry
    from asyncstate.fleet.part import Part
    from asyncstate.fleet.protocol import Offer, Verifier

log: logging.Logger = get_logger(__name__)

FAILED = Outcome(result=False, changed=False, ran=False)
"""What a state counts as of which nothing can be known."""


class Others:
    """The other hosts of one run; an `asyncstate.run.dispatch.Elsewhere`.

    ``clock`` counts seconds; it is never compared with that of another host.
    """

    def __init__(
        self,
        board: Board,
        offer: Offer,
        part: Part,
        verifier: Verifier,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        self._board = board
        self._offer = offer
        self._part = part
        self._verifier = verifier
        self._clock = clock
        self._arrived: list[tuple[int, Outcome]] = []
        self._known: set[int] = set()
        self._news = anyio.Event()
        self._outbox: list[NodeResult] = []
        self._sent: set[int] = set()
        self._mail = anyio.Event()
        self._why: dict[int, str] = {}
        self._seen_controller = clock()

    # what the engine asks

    async def outcomes(self) -> AsyncGenerator[tuple[int, Outcome], None]:
        """Yield each REMOTE node with what its state ended with, once."""
        while True:
            while self._arrived:
                yield self._arrived.pop(0)
            self._news = anyio.Event()
            if not self._arrived:
                await self._news.wait()

    def ended(self, node: int, outcome: Outcome) -> None:
        """Put what a node ended with into the outbox, if a host waits for it."""
        if node in self._part.read and node not in self._sent:
            self._sent.add(node)
            self._post(
                NodeResult(
                    run=self._offer.run,
                    host=self._offer.host,
                    node=self._part.read[node][0],
                    result=outcome.result,
                    changed=outcome.changed,
                    ran=outcome.ran,
                    skip_req=outcome.skip_req,
                    unforeseen=outcome.unforeseen,
                )
            )

    def words(self, nodes: Iterable[int]) -> str:
        """Say why nodes failed of which nothing is known."""
        return " ".join(dict.fromkeys(self._why[node] for node in nodes if node in self._why))

    def close(self, why: str) -> None:
        """Tell the hosts that wait that the nodes which have not ended never will."""
        for node, (name, _) in self._part.read.items():
            if node not in self._sent:
                self._sent.add(node)
                words = f"{self._offer.host} did not run it: {why}."
                self._post(
                    NodeResult(
                        run=self._offer.run, host=self._offer.host, node=name, result=False, ran=False, why=words
                    )
                )

    def _post(self, result: NodeResult) -> None:
        self._outbox.append(result)
        self._mail.set()

    # what comes and goes

    async def receive(self) -> None:
        """Take the rows that other hosts write for this one. Does not end."""
        pattern = subjects.rows(self._offer.host, self._offer.run)
        async for entry in self._board.watch(pattern):
            self._take_row(entry)

    def _take_row(self, entry: Entry) -> None:
        try:
            _, _, writer, _, node = subjects.parts(entry.key)
            result = decode(entry.value, NodeResult)
            require_fields(result, run=self._offer.run, host=writer)
        except (MessageRefused, ValueError) as error:
            log.warning("A row at %s is refused: %s", entry.key, error)
            return
        number = self._part.remote.get((writer, node))
        if number is not None and result.node == node:
            outcome = Outcome(
                result=result.result,
                changed=result.changed,
                ran=result.ran,
                skip_req=result.skip_req,
                unforeseen=result.unforeseen,
            )
            self._arrive(number, outcome, result.why)

    async def receive_losses(self) -> None:
        """Take the operator's word on hosts that are lost. Does not end."""
        async for entry in self._board.watch(subjects.lost(self._offer.host, self._offer.run)):
            try:
                notice = decode(self._verifier.open(entry.value, entry.key), Lost)
                require_fields(notice, run=self._offer.run, host=self._offer.host)
            except MessageRefused as error:
                log.warning("A notice at %s is refused: %s", entry.key, error)
                continue
            why = f"Host {notice.lost} is lost: there was no sign of it for {notice.seconds:.0f} s."
            if notice.why:
                why = f"Host {notice.lost} ended without it: {notice.why}."
            # A row that was written before the notice may come after it: they are different keys.
            for row in await self._board.entries(subjects.rows(self._offer.host, self._offer.run)):
                self._take_row(row)
            self.give_up(why, host=notice.lost)

    def give_up(self, why: str, host: str | None = None) -> None:
        """Let the states of a host, or of all, count as failed that have not ended."""
        for (writer, _), number in self._part.remote.items():
            if host in {None, writer}:
                self._arrive(number, FAILED, why)

    def _arrive(self, number: int, outcome: Outcome, why: str) -> None:
        if number in self._known:
            return
        self._known.add(number)
        if why:
            self._why[number] = why
        self._arrived.append((number, outcome))
        self._news.set()

    async def watch_controller(self) -> None:
        """Give up what is awaited once there is no sign of the run's controller for the patience of the offer."""

        async def notice_pulse() -> None:
            async for entry in self._board.watch(subjects.pulse(self._offer.run)):
                try:
                    decode(entry.value, Pulse)
                except MessageRefused:
                    continue
                self._seen_controller = self._clock()

        patience = self._offer.patience
        async with anyio.create_task_group() as group:
            group.start_soon(notice_pulse)
            while True:
                left = self._seen_controller + patience - self._clock()
                if left <= 0:
                    break
                await anyio.sleep(max(left, 0.05))
            group.cancel_scope.cancel()
        self.give_up(f"There was no sign of the controller of the run for {patience:.0f} s.")

    async def send(self) -> None:
        """Write what is in the outbox, for each host that waits. Does not end."""
        while True:
            await self.flush()
            self._mail = anyio.Event()
            if not self._outbox:
                await self._mail.wait()

    async def flush(self) -> None:
        """Write what is in the outbox now."""
        readers = dict(self._part.read.values())
        while self._outbox:
            result = self._outbox[0]
            for reader in readers[result.node]:
                await self._board.put(
                    subjects.row(reader, self._offer.host, self._offer.run, result.node), encode(result)
                )
            if self._outbox and self._outbox[0] is result:
                self._outbox.pop(0)
