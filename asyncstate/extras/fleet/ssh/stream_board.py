"""The board as a runner sees it: requests go over its stream to the operator's program, which has the board.

It uses asyncio: answers come from a thread, as futures and by `call_soon_threadsafe`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, NoReturn, Self

from asyncstate.extras.fleet.board import Entry, Message
from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.ssh import frames

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import TracebackType

    from asyncstate.extras.fleet.ssh.channel import Channel


class StreamBoard:
    """A host's `asyncstate.extras.fleet.board.Board` over a channel. A channel that has ended is not re-established."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def __aenter__(self) -> Self:
        """Do nothing: the channel is there."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: what was written was acknowledged."""

    async def _ask(self, word: str, *value: Any) -> Any:
        return await asyncio.wrap_future(self._channel.ask(word, *value))

    async def put(self, key: str, value: bytes) -> None:
        """Set a key."""
        await self._ask("put", key, value)

    async def get(self, key: str) -> bytes | None:
        """Return the last value of a key, None if it has none."""
        found = await self._ask("get", key)
        return None if found is None else frames.value_of(found, bytes)

    async def entries(self, pattern: str) -> list[Entry]:
        """Return the present values of all matching keys, by rising revision."""
        found = frames.value_of(await self._ask("entries", pattern), list[frames.Entry])
        return [Entry(*each) for each in found]

    async def watch(self, pattern: str) -> AsyncGenerator[Entry, None]:
        """Yield the value of each matching key, by rising revision, then each change."""
        loop = asyncio.get_running_loop()
        arrived: deque[Any] = deque()
        news = asyncio.Event()

        def take(value: Any) -> None:
            arrived.append(value)
            loop.call_soon_threadsafe(news.set)

        number = self._channel.subscribe("watch", pattern, taker=take)
        try:
            while True:
                while arrived:
                    value = arrived.popleft()
                    if isinstance(value, Exception):
                        raise value
                    yield Entry(*frames.value_of(value, frames.Entry))
                news.clear()
                if not arrived:
                    await news.wait()
        finally:
            self._channel.close(number)

    async def publish(self, subject: str, data: bytes, *, id: str) -> None:
        """Append a message to the stream of a subject, once for each ``id``."""
        await self._ask("publish", subject, data, id)

    async def messages(self, subject: str, *, since: int = 0) -> AsyncGenerator[Message, None]:
        """Refuse: only operators read streams."""
        self._refuse(subject, since)
        yield Message(subject, b"", since, 0.0)  # never reached: makes this a generator

    async def position(self) -> int:
        """Refuse: it is for operators only."""
        raise BoardError("a host may not ask for the position")

    def _refuse(self, subject: str, since: int) -> NoReturn:
        raise BoardError(f"a host may not read the stream of {subject} (from {since})")
