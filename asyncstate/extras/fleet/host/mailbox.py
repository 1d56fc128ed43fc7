"""Mailbox: all entries of others for one host in one run, read from the board once and sorted by kind."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import anyio

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.board import Entry
from asyncstate.extras.fleet.errors import BoardError
from asyncstate.logs import get_logger

if TYPE_CHECKING:
    import logging
    from collections.abc import AsyncGenerator, Collection

    from asyncstate.extras.fleet.board import Board

log: logging.Logger = get_logger(__name__)

_ROOM: Final = 8 << 20
"""Bytes of rows kept before the awaited ones are known: some 20,000 typical rows."""


class Mailbox:
    """The entries for ``host`` in ``run``. It keeps entries until their kind is asked for.

    Any host may write rows for another, awaited or not. Until `await_rows` it keeps up to ``room`` bytes of them.
    """

    def __init__(self, board: Board, host: str, run: str, *, room: int = _ROOM) -> None:
        self._board = board
        self._host = host
        self._run = run
        self._row_watch: anyio.CancelScope | None = None
        self._unread: dict[str, deque[Entry]] = {}
        self._news = anyio.Event()
        self._error: BoardError | None = None
        self._awaited: frozenset[str] | None = None
        self._room = room
        self._is_full = False

    @property
    def unread(self) -> list[Entry]:
        """The entries that were not read yet."""
        return [entry for queue in self._unread.values() for entry in queue]

    async def receive(self) -> None:
        """Take entries as they come. Does not end; `entries` raises the error once the board has been given up."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._receive, subjects.mail(self._host, self._run))
            with anyio.CancelScope() as self._row_watch:
                await self._receive(subjects.rows(self._host, self._run))

    async def _receive(self, pattern: str) -> None:
        try:
            async for entry in self._board.watch(pattern):
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
        """From now on, keep the rows of these keys and no others; rows dropped for lack of room are read again.

        Raises BoardError.
        """
        self._awaited = frozenset(keys)
        if not self._awaited and self._row_watch is not None:
            self._row_watch.cancel()
        unread = self._unread.get(subjects.ROW, deque())
        self._unread[subjects.ROW] = deque(row for row in unread if row.key in self._awaited)
        for key in sorted(self._awaited) if self._is_full else ():
            value = await self._board.get(key)
            if value is not None:
                self._unread[subjects.ROW].append(Entry(key, value, 0))
                self._ring()

    def _ring(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    async def entries(self, *kinds: str) -> AsyncGenerator[Entry, None]:
        """Yield the entries of these kinds, each to one reader only. Raises BoardError at the end.

        Entries of one kind come in the order in which they were written.
        """
        while True:
            queue = next((self._unread[kind] for kind in kinds if self._unread.get(kind)), None)
            if queue is not None:
                yield queue.popleft()
                continue
            if self._error is not None:
                raise self._error
            await self._news.wait()
