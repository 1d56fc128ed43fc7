"""Mailbox: all that others write for one host in one run, read from the board once and handed out by kind."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import anyio

from asyncstate.errors import BoardError
from asyncstate.fleet import subjects
from asyncstate.fleet.board import Entry
from asyncstate.logs.loggers import get_logger

if TYPE_CHECKING:
    import logging
    from collections.abc import AsyncGenerator, Collection

    from asyncstate.fleet.board import Board

log: logging.Logger = get_logger(__name__)

_ROOM: Final = 8 << 20
"""Bytes of rows that are kept before it is known which of them are awaited: some 20,000 as hosts write them."""


class Mailbox:
    """What is for ``host`` in ``run``. It keeps what comes until somebody asks for its kind.

    Any host may write rows for another, awaited or not. Until `await_rows` it keeps as many as have ``room``, in bytes.
    """

    def __init__(self, board: Board, host: str, run: str, *, room: int = _ROOM) -> None:
        self._board = board
        self._pattern = subjects.mail(host, run)
        self._unread: dict[str, deque[Entry]] = {}
        self._news = anyio.Event()
        self._error: BoardError | None = None
        self._awaited: frozenset[str] | None = None
        self._room = room
        self._is_full = False

    @property
    def unread(self) -> list[Entry]:
        """What is kept for whoever asks."""
        return [entry for queue in self._unread.values() for entry in queue]

    async def receive(self) -> None:
        """Take what comes. It ends only when the board is given up, which is raised to whoever waits for entries."""
        try:
            async for entry in self._board.watch(self._pattern):
                try:
                    kind, *_ = subjects.parts(entry.key)
                except ValueError as error:
                    log.warning("A message at %s is refused: %s", entry.key, error)
                    continue
                if kind == subjects.ROW and not self._has_place(entry):
                    continue
                self._unread.setdefault(kind, deque()).append(entry)
                self._ring()
        except BoardError as error:
            self._error = error
            self._ring()

    def _has_place(self, row: Entry) -> bool:
        if self._awaited is not None:
            return row.key in self._awaited
        self._room -= len(row.key) + len(row.value)
        if self._room < 0 and not self._is_full:
            self._is_full = True
            log.warning("Hosts write more rows for this one than there is room for: they are read again if awaited")
        return self._room >= 0

    async def await_rows(self, keys: Collection[str]) -> None:
        """From now on, keep the rows of these keys and no others; those that had no room are read again.

        Raises BoardError.
        """
        self._awaited = frozenset(keys)
        unread = self._unread.get(subjects.ROW, deque())
        self._unread[subjects.ROW] = deque(row for row in unread if row.key in self._awaited)
        for key in sorted(self._awaited) if self._is_full else ():
            value = await self._board.get(key)
            if value is not None:
                self._unread[subjects.ROW].appendleft(Entry(key, value, 0))  # no notice of a loss overtakes it
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
