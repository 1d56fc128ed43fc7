"""Inbox: the messages for one reader of a connection, until the reader takes them.

This uses asyncio, as NATS's client does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from nats import errors as nats_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from nats.aio.msg import Msg

    from asyncstate.extras.fleet.errors import BoardError


class Inbox:
    """The messages of a subject. ``on_close`` is called when it is no longer read."""

    def __init__(self, subject: str, on_close: Callable[[Inbox], None]) -> None:
        self.subject = subject
        self.subscription: Any = None
        self._on_close = on_close
        self._messages: deque[Msg | None] = deque()
        self._error: BoardError | None = None
        self._news: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        """Return how many messages wait."""
        return len(self._messages)

    def put(self, message: Msg | None) -> None:
        """Add a message for the reader; None for a new connection."""
        self._messages.append(message)
        self._ring()

    async def arrived(self, message: Msg) -> None:
        """Add a message: the client's callback."""
        self.put(message)

    def fail(self, error: BoardError) -> None:
        """Note that the connection has ended for good."""
        self._error = error
        self._ring()

    def _ring(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def clear(self) -> None:
        """Drop all waiting messages."""
        self._messages.clear()

    async def take(self, seconds: float) -> Msg | None:
        """Return the next message, None for a new connection. For one task at a time.

        Raises TimeoutError; the error of the connection after all that came before it ended.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while not self._messages:
            if self._error is not None:
                raise self._error
            if loop.time() >= until:
                raise TimeoutError
            self._news = loop.create_future()
            late = loop.call_at(until, self._ring)
            try:
                await self._news
            finally:
                late.cancel()
                self._news = None
        return self._messages.popleft()

    async def close(self) -> None:
        """Stop listening."""
        self._on_close(self)
        with suppress(nats_errors.Error, OSError):
            await self.subscription.unsubscribe()
