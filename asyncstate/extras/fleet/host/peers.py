"""Peers: the other hosts of a run, as the engine of one host sees them through the board.

rows, notices of loss ──▶ arrivals ──▶ the machine's REMOTE nodes, ``__running__``
nodes that end ──▶ outbox ──▶ rows for the hosts that wait for them
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.board import Entry, put_all
from asyncstate.extras.fleet.errors import MessageRefused
from asyncstate.extras.fleet.heartbeat import silence
from asyncstate.extras.fleet.protocol import (
    Lost,
    NodeResult,
    Opened,
    Reached,
    decode,
    encode,
    has_row,
    node_name,
    require_fields,
)
from asyncstate.logs import get_logger
from asyncstate.model.result import Outcome

if TYPE_CHECKING:
    import logging
    from collections.abc import AsyncGenerator, Callable, Collection, Iterable

    from asyncstate.extras.fleet.board import Board
    from asyncstate.extras.fleet.host.mailbox import Mailbox
    from asyncstate.extras.fleet.host.partition import Partition
    from asyncstate.extras.fleet.protocol import Offer, Verifier
    from asyncstate.model.result import Row

log: logging.Logger = get_logger(__name__)

_DONE = Outcome(result=True, changed=False)
FAILED = Outcome(result=False, changed=False, ran=False)
"""The outcome of a state whose real outcome is unknown."""


_REMIND: Final = 60.0
"""Seconds after which a host reports again that it has reached a barrier that is still closed."""


class Peers:
    """The other hosts of one run; an `asyncstate.run.dispatch.Elsewhere`.

    ``clock`` counts seconds; it is never compared with another host's.
    """

    def __init__(
        self,
        board: Board,
        mail: Mailbox,
        offer: Offer,
        part: Partition,
        verifier: Verifier,
        *,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        self._board = board
        self._inbox = mail
        self._offer = offer
        self._part = part
        self._verifier = verifier
        self._clock = clock
        self.rows: dict[str, Row] = {}
        self._by_host: dict[str, list[tuple[str, Outcome]]] = {}
        self._hosts = {number: host for (host, name), number in part.remote.items() if has_row(name)}
        self._arrived: list[tuple[int, Outcome]] = []
        self._known: set[int] = set()
        self._news = anyio.Event()
        self._outbox: list[tuple[str, bytes]] = []
        self._sent: set[str] = set()
        self._names: dict[int, list[str]] = {}
        for name, (node, _) in part.read.items():
            self._names.setdefault(node, []).append(name)
        self._before: dict[int, set[int]] = {order: set(nodes) for order, nodes in part.before.items()}
        self._reached: dict[int, tuple[str, bytes]] = {}
        self._mail = anyio.Event()
        self._why: dict[int, str] = {}

    # what the engine asks

    async def outcomes(self) -> AsyncGenerator[tuple[int, Outcome], None]:
        """Yield each REMOTE node with the outcome of its state, once."""
        while True:
            while self._arrived:
                yield self._arrived.pop(0)
            self._news = anyio.Event()
            if not self._arrived:
                await self._news.wait()

    def ended(self, node: int, outcome: Outcome) -> None:
        """Put the outcome of a node into the outbox, if a host or a barrier waits for it."""
        for name in self._names.get(node, ()):
            if name not in self._sent:
                told = _DONE if name == node_name(node, end=True) else outcome
                self._post(
                    NodeResult(
                        run=self._offer.run,
                        host=self._offer.host,
                        node=name,
                        result=told.result,
                        changed=told.changed,
                        ran=told.ran,
                        skip_req=told.skip_req,
                        unforeseen=told.unforeseen,
                    )
                )
        self._end_before_barriers({node})

    def _end_before_barriers(self, nodes: set[int]) -> None:
        for order, left in list(self._before.items()):
            left -= nodes
            if not left:
                del self._before[order]
                reached = Reached(run=self._offer.run, host=self._offer.host, order=order)
                self._reached[order] = subjects.reached(self._offer.host, self._offer.run, order), encode(reached)
                self._outbox.append(self._reached[order])
                self._mail.set()

    def words(self, nodes: Iterable[int]) -> str:
        """Return the reasons for nodes that failed with an unknown outcome."""
        return " ".join(dict.fromkeys(self._why[node] for node in nodes if node in self._why))

    async def close(self, why: str, *, again: bool = False) -> None:
        """Tell waiting hosts that the remaining nodes will never end.

        With ``again`` the part was begun before: rows that were sent then stay valid.
        """
        told: set[str] = set()
        if again:
            pattern = subjects.rows_written(self._offer.host, self._offer.run)
            told = {entry.key for entry in await self._board.entries(pattern)}
        words = f"{self._offer.host} did not run it: {why}."
        for name in self._part.read:
            if name not in self._sent:
                self._post(
                    NodeResult(
                        run=self._offer.run, host=self._offer.host, node=name, result=False, ran=False, why=words
                    ),
                    told,
                )
        self._end_before_barriers({node for nodes in self._part.before.values() for node in nodes})

    def _post(self, result: NodeResult, told: Collection[str] = ()) -> None:
        """Put a row into the outbox, once, for each waiting host. The keys in ``told`` have one already."""
        self._sent.add(result.node)
        row = encode(result)
        for reader in self._part.read[result.node][1]:
            key = subjects.row(reader, self._offer.host, self._offer.run, result.node)
            if key not in told:
                self._outbox.append((key, row))
        self._mail.set()

    # what comes and goes

    async def receive(self) -> None:
        """Take the rows of other hosts for this one, and the operator's notices of lost hosts.

        Rows that came before the notice of their host's loss count. Does not end.
        """
        offer = self._offer
        await self._inbox.await_rows(
            [subjects.row(offer.host, writer, offer.run, node) for writer, node in self._part.remote]
        )
        take = {subjects.ROW: self._take_row, "barrier": self._take_barrier}
        async for entry in self._inbox.entries(*take, "lost"):
            kind, *_ = subjects.parts(entry.key)
            if kind == "lost":
                await self._take_loss(entry)
            else:
                take[kind](entry)

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
            if number in self._part.ordering:
                self._arrive(number, _DONE, "")
            else:
                self._arrive(number, outcome, result.why)

    def _take_barrier(self, entry: Entry) -> None:
        try:
            opened = decode(self._verifier.open(entry.value, entry.key), Opened)
            require_fields(opened, run=self._offer.run, host=self._offer.host)
        except MessageRefused as error:
            log.warning("A message at %s is refused: %s", entry.key, error)
            return
        if opened.order in self._part.barriers:
            self._arrive(self._part.barriers[opened.order], _DONE, "")

    async def _take_loss(self, entry: Entry) -> None:
        try:
            notice = decode(self._verifier.open(entry.value, entry.key), Lost)
            require_fields(notice, run=self._offer.run, host=self._offer.host)
        except MessageRefused as error:
            log.warning("A notice at %s is refused: %s", entry.key, error)
            return
        why = f"Host {notice.lost} is lost: there was no sign of it for {notice.seconds:.0f} s."
        if notice.why:
            why = f"Host {notice.lost} ended without it: {notice.why}."
        await self._look_for_rows(notice.lost)
        self.give_up(why, host=notice.lost)

    async def _look_for_rows(self, writer: str) -> None:
        """Take the rows of a host on the board that this process has not received."""
        for (host, node), number in self._part.remote.items():
            if host == writer and number not in self._known:
                key = subjects.row(self._offer.host, writer, self._offer.run, node)
                value = await self._board.get(key)
                if value is not None:
                    self._take_row(Entry(key, value, 0))

    def give_up(self, why: str, host: str | None = None) -> None:
        """Count all unfinished states of a host, or of all hosts, as failed.

        A REMOTE node that only orders states counts as done if its host is lost, and as failed if all are.
        """
        for (writer, _), number in self._part.remote.items():
            if host in {None, writer}:
                if host is not None and number in self._part.ordering:
                    self._arrive(number, _DONE, "")
                else:
                    self._arrive(number, FAILED, why)
        for number in self._part.barriers.values() if host is None else ():
            self._arrive(number, FAILED, why)

    def _arrive(self, number: int, outcome: Outcome, why: str) -> None:
        if number in self._known:
            return
        self._known.add(number)
        if why:
            self._why[number] = why
        if number in self._hosts:
            self._show(number, outcome, why)
        self._arrived.append((number, outcome))
        self._news.set()

    def _show(self, number: int, outcome: Outcome, why: str) -> None:
        """Add the outcome of a state to the rows. States of several hosts with one tag share a row."""
        chunk = self._part.plan.elsewhere[number]
        known = self.rows.get(chunk.tag)
        comment = " ".join(each for each in (known["comment"] if known is not None else "", why) if each)
        by_host = self._by_host.setdefault(chunk.tag, [])
        by_host.append((self._hosts[number], outcome))
        self.rows[chunk.tag] = Outcome.joint_row(chunk, by_host, comment)

    async def watch_controller(self) -> None:
        """Give up on other hosts once the run's controller has been silent for the patience of the offer."""
        patience = self._offer.patience
        await silence(self._board, self._offer.run, patience, self._clock)
        self.give_up(f"There was no sign of the controller of the run for {patience:.0f} s.")

    async def remind(self) -> None:
        """Report again that this host has reached barriers that are still closed. Does not end.

        The server may have dropped the first report.
        """
        while True:
            await anyio.sleep(_REMIND)
            closed = {order for order, number in self._part.barriers.items() if number not in self._known}
            self._outbox += [message for order, message in self._reached.items() if order in closed]
            self._mail.set()

    async def send(self) -> None:
        """Send the outbox to the waiting hosts, as it fills. Does not end."""
        while True:
            await self.flush()
            self._mail = anyio.Event()
            if not self._outbox:
                await self._mail.wait()

    async def flush(self) -> None:
        """Send the present outbox."""
        while self._outbox:
            rows = list(self._outbox)
            await put_all(self._board, rows)
            del self._outbox[: len(rows)]
