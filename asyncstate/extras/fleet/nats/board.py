"""The board on NATS: the `asyncstate.extras.fleet.board.Board` of one party."""

from __future__ import annotations

import hashlib
from contextlib import aclosing
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Self

from asyncstate.extras.fleet.board import Entry, Message
from asyncstate.extras.fleet.credentials import OPERATOR
from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.nats import stream
from asyncstate.extras.fleet.nats.access import DATA, stored
from asyncstate.extras.fleet.nats.answers import NOTHING, WRONG_LAST_SEQUENCE, Refused, status_of
from asyncstate.extras.fleet.nats.connection import GIVE_UP, Connection
from asyncstate.extras.fleet.nats.follower import follow, present

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from datetime import datetime
    from types import TracebackType

    from asyncstate.extras.fleet.credentials import Credentials

_ONLY_IF_NEW: Final = {"Nats-Expected-Last-Subject-Sequence": "0"}


class NatsBoard:
    """A party's board on the servers at ``url``, see `asyncstate.extras.fleet.board.Board`.

    An operator's board makes missing streams, and removes old runs (`stream.tidy`). A message of ``publish`` has a key
    made of its subject and ``id``, which is written only once: a repeated ``id`` is dropped as long as the first is
    kept, and no other party can make the server drop a message.

    ``patient``: whether to wait for a server that does not answer yet.

    In a cluster, ``get`` may be answered by a server without the last change; ``watch`` misses none.
    """

    def __init__(self, url: str, credentials: Credentials, *, give_up: float = GIVE_UP, patient: bool = False) -> None:
        self._url = url
        self._credentials = credentials
        self._give_up = give_up
        self._patient = patient
        self._now: Connection | None = None

    @property
    def _connection(self) -> Connection:
        if self._now is None:
            raise BoardError("the board is not connected")
        return self._now

    async def __aenter__(self) -> Self:
        """Connect. Raises BoardError if there is no server, or it refuses this party."""
        connection = Connection(self._url, self._credentials, give_up=self._give_up, patient=self._patient)
        await connection.__aenter__()
        try:
            if self._credentials.role == OPERATOR:
                await stream.ensure(connection, self._credentials)
                await stream.tidy(connection, timedelta(days=self._credentials.kept_days))
        except BaseException:
            await connection.__aexit__(None, None, None)
            raise
        self._now = connection
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect."""
        connection, self._now = self._connection, None
        await connection.__aexit__(kind, error, trace)

    async def put(self, key: str, value: bytes) -> None:
        """Set a key."""
        await self._connection.ask(f"put.{key}", value)

    async def get(self, key: str) -> bytes | None:
        """Return the last value of a key, None if it has none."""
        message = await self._connection.request(f"get.{key}", b"")
        status = status_of(message)
        if status == NOTHING:
            return None
        if status:
            raise BoardError(f"the server does not give {key}: {message.headers}")
        return bytes(message.data)

    async def entries(self, pattern: str) -> list[Entry]:
        """Return the present values of all matching keys, by rising revision."""
        return [Entry(each.key, each.value, each.sequence) for each in await present(self._connection, pattern)]

    async def watch(self, pattern: str) -> AsyncGenerator[Entry, None]:
        """Yield the value of each matching key, by rising revision, then each change."""
        async with aclosing(follow(self._connection, pattern)) as entries:
            async for entry in entries:
                yield Entry(entry.key, entry.value, entry.sequence)

    async def publish(self, subject: str, data: bytes, *, id: str) -> None:
        """Append a message to the stream of a subject, once for each ``id``."""
        key = f"{subject}.{hashlib.sha256(id.encode()).hexdigest()[:32]}"
        try:
            await self._connection.ask(f"put.{key}", data, _ONLY_IF_NEW)
        except Refused as refused:
            if refused.code != WRONG_LAST_SEQUENCE:
                raise

    async def messages(self, subject: str, *, since: int = 0) -> AsyncGenerator[Message, None]:
        """Yield the messages of all matching subjects after ``since``, then new ones."""
        async with aclosing(follow(self._connection, stored(subject), since=since)) as entries:
            async for entry in entries:
                yield Message(entry.key.rpartition(".")[0], entry.value, entry.sequence, entry.stored)

    async def position(self) -> int:
        """Return the sequence of the last message so far. For operators only."""
        return await stream.last_sequence(self._connection, DATA)

    async def forget(self, *patterns: str) -> None:
        """Remove all matching keys. For operators only."""
        await stream.forget(self._connection, *patterns)

    async def forget_before(self, moment: datetime) -> None:
        """Remove everything of runs written before a moment, by the server's clock. For operators only."""
        await stream.forget_before(self._connection, moment)

    async def room(self) -> dict[str, tuple[int, int]]:
        """Return the bytes in use by each stream, and its limit. For operators only."""
        return await stream.room(self._connection)
