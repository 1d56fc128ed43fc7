"""Follows keys of the stream: each entry once, in order, whatever happens to the connection or the server.

A reader on the server sends entries on demand, and numbers them. When a number is missing, when the server has been
silent for longer than it promised, or the connection is a new one, another reader begins after the last entry seen. A
slow caller is not sent more than it asked for.

This uses asyncio, as NATS's client does.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from asyncstate.errors import BoardError
from asyncstate.fleet.nats.access import ROOT, STREAM
from asyncstate.fleet.nats.answers import answer_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from nats.aio.msg import Msg

    from asyncstate.fleet.nats.connection import Connection

_BATCH: Final = 256
_EXPIRES: Final = 30.0
_HEARTBEAT: Final = 5.0
_IDLE: Final = 60.0
"""Seconds after which the server forgets a reader that asks for nothing."""
_NANO: Final = 1_000_000_000
_END_OF_REQUEST: Final = {"404", "408"}
_ALIVE: Final = "100"


class Stored(NamedTuple):
    """An entry of the stream: its key, value and sequence, and when it was stored, by the server's clock in seconds."""

    key: str
    value: bytes
    sequence: int
    stored: float


class _Broken(Exception):
    """This reader cannot be relied on any more."""


def reader_configuration(name: str, pattern: str) -> dict[str, Any]:
    """Return a reader of all keys that fit, from the first, as JetStream wants it described."""
    return {
        "name": name,
        "filter_subject": f"{ROOT}{pattern}",
        "ack_policy": "none",
        "deliver_policy": "all",
        "replay_policy": "instant",
        "mem_storage": True,
        "num_replicas": 1,
        "inactive_threshold": int(_IDLE * _NANO),
    }


async def follow(connection: Connection, pattern: str, *, since: int = 0) -> AsyncGenerator[Stored]:
    """Yield the entries of all keys that fit, from after sequence ``since``, then new ones. Raises BoardError."""
    while True:
        reader = _Reader(connection, pattern)
        try:
            await reader.open(since)
            while True:
                entry = await reader.next()
                since = entry.sequence
                yield entry
        except _Broken:
            await asyncio.sleep(0)
        finally:
            await reader.close()


async def present(connection: Connection, pattern: str) -> list[Stored]:
    """Return the entries of all keys that fit, as they are now. Raises BoardError."""
    while True:
        reader = _Reader(connection, pattern)
        found: dict[str, Stored] = {}
        try:
            left = await reader.open(0)
            while left:
                entry = await reader.heard()
                if entry is None:  # the server has nothing more: what it counted was removed meanwhile
                    break
                found[entry.key] = entry
                left = min(left - 1, reader.pending)
            return sorted(found.values(), key=lambda entry: entry.sequence)
        except _Broken:
            await asyncio.sleep(0)
        finally:
            await reader.close()


class _Reader:
    """One reader on the server. ``pending`` is how many entries there were behind the last one."""

    def __init__(self, connection: Connection, pattern: str) -> None:
        self._connection = connection
        self._pattern = pattern
        self._name = secrets.token_hex(16)
        self._queue: asyncio.Queue[Msg | None] = asyncio.Queue()
        self._inbox: Any = None
        self._asked = 0
        self._number = 0
        self.pending = 0

    async def open(self, since: int) -> int:
        """Make the reader; return how many entries there are for it. Raises BoardError."""
        start = {"deliver_policy": "by_start_sequence", "opt_start_seq": since + 1} if since else {}
        request = {"stream_name": STREAM, "config": reader_configuration(self._name, self._pattern) | start}
        self._inbox = await self._connection.listen(self._queue)
        subject = f"watch.{self._name}.{self._pattern}"
        answer = answer_of(await self._connection.request(subject, json.dumps(request).encode()))
        return int(answer.get("num_pending", 0))

    async def close(self) -> None:
        """Stop listening. The server forgets the reader by itself."""
        if self._inbox is not None:
            await self._inbox.close()

    async def next(self) -> Stored:
        """Return the next entry. Raises _Broken, BoardError."""
        while True:
            entry = await self.heard()
            if entry is not None:
                return entry

    async def heard(self) -> Stored | None:
        """Return the next entry, None if the server says that there is none now. Raises _Broken, BoardError."""
        if self._asked <= 0:
            await self._ask()
        message = await self._arrival()
        if message is None:
            raise _Broken
        return self._looked_at(message)

    async def _ask(self) -> None:
        wanted = {"batch": _BATCH, "expires": int(_EXPIRES * _NANO), "idle_heartbeat": int(_HEARTBEAT * _NANO)}
        self._asked = _BATCH
        await self._connection.send(f"next.{self._name}", json.dumps(wanted).encode(), reply=self._inbox.subject)

    async def _arrival(self) -> Msg | None:
        if not self._queue.empty():
            return self._queue.get_nowait()
        arrival = asyncio.ensure_future(self._queue.get())
        try:
            waited_for: set[asyncio.Future[Any]] = {arrival, self._connection.ended}
            await asyncio.wait(waited_for, timeout=2.5 * _HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
            if arrival.done():
                return arrival.result()
        finally:
            arrival.cancel()
        if self._connection.ended.done():
            self._connection.ended.result()
        raise _Broken

    def _looked_at(self, message: Msg) -> Stored | None:
        """Return the entry in a message, None if it is only a word of the server's. Raises _Broken."""
        status = (message.headers or {}).get("Status")
        if status == _ALIVE:
            if int((message.headers or {}).get("Nats-Last-Consumer", self._number)) != self._number:
                raise _Broken
            return None
        if status in _END_OF_REQUEST:
            self._asked = 0
            return None
        if status is not None:
            raise _Broken
        if not message.subject.startswith(ROOT):
            raise BoardError(f"the server sends something that is not of the board: {message.subject}")
        sequence, number, stored, self.pending = _numbers(message.reply)
        if number != self._number + 1:
            raise _Broken
        self._number = number
        self._asked -= 1
        return Stored(message.subject.removeprefix(ROOT), message.data, sequence, stored / _NANO)


def _numbers(reply: str) -> tuple[int, int, int, int]:
    """Return what the subject of an answer says.

    That is the sequence in the stream, the reader's number, the time in nanoseconds, and what is pending.

    Its two forms are ``$JS.ACK.stream.reader.deliveries.sequence.number.time.pending``, and one with domain and account
    before ``stream``, and a last token.
    """
    tokens = reply.split(".")
    place = {9: 5, 11: 7, 12: 7}.get(len(tokens))
    if place is None or tokens[:2] != ["$JS", "ACK"]:
        raise BoardError("the server sends entries without their numbers")
    sequence, number, time, pending = map(int, tokens[place : place + 4])
    return sequence, number, time, pending
