"""Mailbox: all that others write for one host in one run, read from the board once and handed out by kind."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import anyio

from asyncstate.errors import BoardError
from asyncstate.fleet import subjects
from asyncstate.logs.loggers import get_logger

if TYPE_CHECKING:
    import logging
    from collections.abc import AsyncGenerator

    from asyncstate.fleet.board import Board, Entry

log: logging.Logger = get_logger(__name__)


class Mailbox:
    """What is for ``host`` in ``run``. It keeps what comes until somebody asks for its kind."""

    def __init__(self, board: Board, host: str, run: str) -> None:
        self._board = board
        self._pattern = subjects.mail(host, run)
        self._unread: dict[str, deque[Entry]] = {}
        self._news = anyio.Event()
        self._error: BoardError | None = None

    async def receive(self) -> None:
        """Take what comes. It ends only when the board is given up, which is raised to whoever waits for entries."""
        try:
            async for entry in self._board.watch(self._pattern):
                try:
                    kind, *_ = subjects.parts(entry.key)
                except ValueError as error:
                    log.warning("A message at %s is refused: %s", entry.key, error)
                    continue
                self._unread.setdefault(kind, deque()).append(entry)
                self._ring()
        except BoardError as error:
            self._error = error
            self._ring()

    def _ring(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    async def entries(self, *kinds: str) -> AsyncGenerator[Entry, None]:
        """Yield the entries of these kinds by rising revision, each to one reader only. Raises BoardError at the end.

        What was written before something else is there before it, if both kinds are asked for together.
        """
        while True:
            queues = [self._unread[kind] for kind in kinds if self._unread.get(kind)]
            if queues:
                yield min(queues, key=lambda queue: queue[0].revision).popleft()
                continue
            if self._error is not None:
                raise self._error
            await self._news.wait()
