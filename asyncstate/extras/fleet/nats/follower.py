"""Follows keys of the stream: each entry once, in order, whatever happens to the connection or the server.

The server republishes the entries of a stream to all listeners. That costs it next to nothing, but a listener may miss
entries: while its connection is lost, when it is slow, when a server of a cluster is lost. So a reader on the server
fetches missed ones: after each new connection all entries since the last time; every minute only if the number of
entries differs from the number of keys received, or if a second value of one of these keys can count. (A second row
repeats the first, and the next sign of life follows soon.) A reader numbers its entries; when a number is missing, no
entry comes, or it has fewer than it had counted, another reader starts, and counts anew.

It uses asyncio, as NATS's client does.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import secrets
import time
from contextlib import aclosing
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.nats.access import LIVE, ROOT, STREAM, next_for, stream_of
from asyncstate.extras.fleet.nats.answers import NO_CONSUMER, SEQUENCE, Refused
from asyncstate.extras.fleet.nats.connection import NoAnswer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from nats.aio.msg import Msg

    from asyncstate.extras.fleet.nats.connection import Connection
    from asyncstate.extras.fleet.nats.inbox import Inbox

_BATCH: Final = 256
_ANSWER: Final = 10.0
_LONGEST_ANSWER: Final = 60.0
"""Seconds for the next entry of a reader, doubled with each time-out."""
IDLE: Final = 20_000_000_000
"""Nanoseconds after which the server removes an idle reader."""
_FIRST_COMPARED: Final = 10.0
_COMPARED: Final = 60.0
_SELDOM_COMPARED: Final = 600.0
"""Seconds between two comparisons of the received entries with the stream's: at first, later, and at most."""
_SHARE: Final = 300
"""The time between two comparisons is N times the duration of the last one: a busy server is asked less often."""
_MOST_HEARD: Final = 10_000
"""Keys that are kept until they are compared."""
_MOST_WAITING: Final = 10_000
"""Messages that are kept for a slow caller."""
_NANO: Final = 1_000_000_000


class Stored(NamedTuple):
    """An entry of the stream: its key, value and sequence, and when it was stored, by the server's clock in seconds."""

    key: str
    value: bytes
    sequence: int
    stored: float


class _Broken(Exception):
    """This reader can no longer be relied on."""


def reader_configuration(name: str, pattern: str) -> dict[str, Any]:
    """Return JetStream's configuration for a reader of all matching keys, from the first."""
    return {
        "name": name,
        "filter_subject": f"{ROOT}{pattern}",
        "ack_policy": "none",
        "deliver_policy": "all",
        "replay_policy": "instant",
        "mem_storage": True,
        "num_replicas": 1,
        "inactive_threshold": IDLE,
    }


async def follow(connection: Connection, pattern: str, *, since: int = 0) -> AsyncGenerator[Stored]:
    """Yield the entries of all matching keys after sequence ``since``, then new ones. Raises BoardError."""
    live = _Live(connection, pattern)
    heard = _Heard(since)
    await live.open()
    try:
        while True:
            began = time.monotonic()
            async with aclosing(_missed(connection, pattern, heard, counted=live.unbroken)) as missed:
                async for entry in missed:
                    yield entry
            if live.unbroken:
                live.compared(time.monotonic() - began)
            async with aclosing(live.entries()) as entries:
                async for entry in entries:
                    if heard.note(entry):
                        yield entry
                    if len(heard.sequences) >= heard.most:
                        break
    finally:
        await live.close()


async def present(connection: Connection, pattern: str) -> list[Stored]:
    """Return the present entries of all matching keys. Raises BoardError."""
    found = {entry.key: entry async for entry in _missed(connection, pattern, _Heard(0), counted=False)}
    return sorted(found.values(), key=lambda entry: entry.sequence)


class _Heard:
    """The entries received: all up to the sequence ``floor``, and the last ``sequences`` of keys after that.

    ``most`` of them call for a comparison. If they are ``countable``, their number is enough for it.
    """

    def __init__(self, floor: int) -> None:
        self.floor = floor
        self.most = _MOST_HEARD
        self.countable = True
        self.sequences: dict[str, int] = {}

    def note(self, entry: Stored) -> bool:
        """Take an entry; return whether it is new."""
        if entry.sequence <= max(self.floor, self.sequences.get(entry.key, 0)):
            return False
        self.sequences[entry.key] = entry.sequence
        self.countable = self.countable and subjects.kind(entry.key) in subjects.COUNTABLE
        return True

    def settle(self) -> None:
        """Note that no entry is missing up to the last one."""
        self.floor = max(self.floor, *self.sequences.values()) if self.sequences else self.floor
        self.sequences.clear()
        self.most = _MOST_HEARD
        self.countable = True

    def postpone(self) -> None:
        """Note that a busy server did not answer the comparison."""
        self.most = 2 * len(self.sequences) + _MOST_HEARD


async def _missed(connection: Connection, pattern: str, heard: _Heard, *, counted: bool) -> AsyncGenerator[Stored]:
    """Yield the stream's entries that were not received, by rising sequence. Raises BoardError.

    ``counted``: none if the stream has as many entries as keys were received, and their number is enough.
    """
    patience, until = _ANSWER, math.inf
    while True:
        reader = _Reader(connection, pattern)
        try:
            left = await reader.open(heard.floor, patience)
            if counted and heard.countable and left == len(heard.sequences):  # a key has one entry in the stream
                left = 0
            while left:
                entry = await reader.heard(patience)
                left, until = min(left - 1, reader.pending), math.inf
                is_new = heard.note(entry)
                heard.floor = entry.sequence
                if is_new:
                    yield entry
            heard.settle()
            return
        except _Broken:
            if counted:  # no entry is known to be missing, so this can wait
                heard.postpone()
                return
            until = min(until, time.monotonic() + connection.give_up)
            if time.monotonic() >= until:
                raise NoAnswer(f"the server does not send what it has of {pattern}") from None
            patience = min(2 * patience, _LONGEST_ANSWER)
        finally:
            await reader.close()


class _Live:
    """Republished entries of matching keys, as they come. ``unbroken``: no loss of an entry is known."""

    def __init__(self, connection: Connection, pattern: str) -> None:
        self.unbroken = False
        self._connection = connection
        self._subject = f"{LIVE}{pattern}"
        self._inbox: Inbox | None = None
        self._pause = _FIRST_COMPARED

    async def open(self) -> None:
        """Begin to listen."""
        self._inbox = await self._connection.listen(self._subject)

    async def close(self) -> None:
        """Stop listening."""
        if self._inbox is not None:
            await self._inbox.close()

    def compared(self, took: float) -> None:
        """Note the duration of a comparison with the stream."""
        self._pause = max(self._pause, min(_SHARE * took, _SELDOM_COMPARED))

    async def entries(self) -> AsyncGenerator[Stored]:
        """Yield entries as they come, until a comparison with the stream is due. Raises BoardError."""
        inbox = _opened(self._inbox)
        loop = asyncio.get_running_loop()
        until = loop.time() + self._pause * random.uniform(0.7, 1.0)  # noqa: S311 - so that not all ask at once
        self._pause = _COMPARED
        self.unbroken = True
        while (left := until - loop.time()) > 0:
            try:
                message = await inbox.take(left)
            except TimeoutError:
                return
            if message is None or len(inbox) > _MOST_WAITING:
                inbox.clear()  # the stream has it, and memory stays bounded if the caller is slow
                self._pause, self.unbroken = _FIRST_COMPARED, False
                return
            headers = message.headers or {}
            if message.reply or SEQUENCE not in headers:
                continue  # no republished message: another party's reader may deliver here
            sequence, stored = _numbered(headers)
            yield Stored(message.subject.removeprefix(LIVE), message.data, sequence, stored)


def _opened(inbox: Inbox | None) -> Inbox:
    if inbox is None:
        raise BoardError("this follower does not listen yet")
    return inbox


def _numbered(headers: dict[str, str]) -> tuple[int, float]:
    """Return the sequence of a republished entry, and when it was stored.

    The server adds both after the headers of the writer. Servers before 2.11 do not add the time: then it is now, by
    this host's clock.
    """
    try:
        stored = datetime.fromisoformat(headers["Nats-Time-Stamp"]).timestamp()
    except (KeyError, ValueError):
        stored = time.time()
    return int(headers[SEQUENCE]), stored


class _Reader:
    """One reader on the server. ``pending`` is the number of entries after the last one."""

    def __init__(self, connection: Connection, pattern: str) -> None:
        self._connection = connection
        self._pattern = pattern
        self._name = secrets.token_hex(16)
        self._inbox: Inbox | None = None
        self._asked = 0
        self._number = 0
        self.pending = 0

    async def open(self, since: int, patience: float) -> int:
        """Make the reader; return the number of its entries. Raises _Broken, BoardError."""
        start = {"deliver_policy": "by_start_sequence", "opt_start_seq": since + 1} if since else {}
        request = {"stream_name": STREAM, "config": reader_configuration(self._name, self._pattern) | start}
        self._inbox = await self._connection.listen()
        subject = f"watch.{self._name}.{self._pattern}"
        try:
            # A cluster may place the reader on a server that has just been lost: then only another reader helps.
            said = await self._connection.ask(subject, json.dumps(request).encode(), patience=patience)
            return int(said.get("num_pending", 0))
        except NoAnswer:
            raise _Broken from None
        except Refused as refused:
            if refused.code != NO_CONSUMER:
                raise
            raise _Broken from refused  # a busy server removed it before it answered

    async def close(self) -> None:
        """Stop listening. The server removes the reader by itself."""
        if self._inbox is not None:
            await self._inbox.close()

    async def heard(self, patience: float) -> Stored:
        """Return the next of the counted entries. Raises _Broken, BoardError."""
        inbox = _opened(self._inbox)
        if self._asked <= 0:
            await self._ask(inbox)
        try:
            message = await inbox.take(patience)
        except TimeoutError:
            raise _Broken from None
        if message is None:
            raise _Broken
        return self._looked_at(message)

    async def _ask(self, inbox: Inbox) -> None:
        self._asked = _BATCH
        wanted = {"batch": _BATCH, "no_wait": True}
        service = next_for(stream_of(self._pattern), self._name)
        await self._connection.send(service, json.dumps(wanted).encode(), reply=inbox.subject)

    def _looked_at(self, message: Msg) -> Stored:
        """Return the entry in a message. Raises _Broken.

        A status in its place, under the name of the inbox, means that there is no other. It may have overtaken an
        entry, or counted entries were removed meanwhile.
        """
        if not message.subject.startswith(ROOT):
            raise _Broken
        sequence, number, stored, self.pending = _numbers(message.reply)
        if number != self._number + 1:
            raise _Broken
        self._number = number
        self._asked -= 1
        return Stored(message.subject.removeprefix(ROOT), message.data, sequence, stored / _NANO)


def _numbers(reply: str) -> tuple[int, int, int, int]:
    """Return the numbers in the subject of an answer.

    They are the sequence in the stream, the reader's number, the time in nanoseconds, and the pending entries.

    Its two forms are ``$JS.ACK.stream.reader.deliveries.sequence.number.time.pending``, and one with domain and account
    before ``stream``, and a last token.
    """
    tokens = reply.split(".")
    place = {9: 5, 11: 7, 12: 7}.get(len(tokens))
    if place is None or tokens[:2] != ["$JS", "ACK"]:
        raise BoardError("the server sends entries without their numbers")
    sequence, number, time, pending = map(int, tokens[place : place + 4])
    return sequence, number, time, pending
