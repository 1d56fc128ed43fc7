"""The log of a host's agent on the board: the last pages of it, for operators.

A host has `_PAGES` pages, which it fills one after the other and then again from the first: the board never keeps more.
Nothing waits for the log. Lines that cannot be sent in time are dropped, and a line has their number.

It uses asyncio, as other threads notify its event loop of lines.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

import anyio
import msgspec

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.errors import BoardError, MessageRefused
from asyncstate.extras.fleet.protocol import LogPage, decode, encode, require_fields
from asyncstate.logs import get_logger
from asyncstate.model.encode import encoded

if TYPE_CHECKING:
    import logging
    from collections.abc import AsyncGenerator

    from asyncstate.extras.fleet.board import Board

log: logging.Logger = get_logger(__name__)

_PAGES: Final = 16
_MOST_BYTES: Final = 16 << 10
"""The largest page before compression, unless it is one line."""
_LONGEST: Final = 2000
"""The length to which each text is cut in a line that is too long for a page."""
_WAITING: Final = 1000
"""The number of lines that may wait to be sent."""
_PAUSE: Final = 0.5
"""Seconds between two writes, so that lines that follow each other share one."""
_AGAIN: Final = 30.0
"""Seconds after which a refused write is retried."""


class Logbook:
    """The log of one agent. It is a stream to write to, from any thread; `send` brings the lines to the board."""

    def __init__(self, host: str, boot: str) -> None:
        self._host = host
        self._boot = boot
        self._lock = threading.Lock()
        self._lines: deque[str] = deque()
        self._dropped = 0
        self._news = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def write(self, text: str) -> int:
        """Take a line."""
        with self._lock:
            if len(self._lines) < _WAITING:
                self._lines.append(text.rstrip("\n"))
            else:
                self._dropped += 1
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._news.set)
        return len(text)

    def flush(self) -> None:
        """Do nothing: lines are sent when there is time."""

    def close(self) -> None:
        """Do nothing: `send` is cancelled."""

    async def send(self, board: Board) -> None:
        """Send lines as they come. Does not end, and raises nothing."""
        self._loop = asyncio.get_running_loop()
        number = -1
        page: list[str] = []
        written = 0
        while True:
            await self._more()
            try:
                if number < 0:
                    number = await self._last_page(board) + 1
                while self._lines:
                    fresh = self._taken(_MOST_BYTES - _size(page))
                    if not fresh:
                        number, page, written = number + 1, self._taken(_MOST_BYTES) or self._first(), 0
                    page += fresh
                    await self._write(board, number, page)
                    written = len(page)
            except BoardError as error:
                with self._lock:
                    self._dropped += len(page) - written
                number, page, written = number + (number >= 0), [], 0
                log.debug("The log cannot be sent: %s", error)
                await anyio.sleep(_AGAIN)
            await anyio.sleep(_PAUSE)

    async def _more(self) -> None:
        while not self._lines:
            self._news.clear()
            if not self._lines:
                await self._news.wait()

    async def _last_page(self, board: Board) -> int:
        """Return the number of the page that was written last, by an earlier process of this host; -1 if there is none.

        Only its remainder modulo `_PAGES` counts: this process starts on another page.
        """
        written = await board.entries(subjects.log(self._host))
        last = written[-1].key.rpartition(".")[2] if written else ""
        return int(last) if last.isdecimal() and len(last) < 9 else -1

    async def _write(self, board: Board, number: int, page: list[str]) -> None:
        message = LogPage(host=self._host, boot=self._boot, number=number, lines=tuple(page))
        await board.put(subjects.log(self._host, str(number % _PAGES)), encode(message))

    def _taken(self, room: int) -> list[str]:
        """Take the next lines that fit into ``room``."""
        taken: list[str] = []
        with self._lock:
            if self._dropped:
                self._lines.appendleft(_note(f"lines of this log that were not sent: {self._dropped}"))
                self._dropped = 0
            while self._lines and (room := room - len(self._lines[0].encode())) >= 0:
                taken.append(self._lines.popleft())
        return taken

    def _first(self) -> list[str]:
        """Take one line that is too long for a page, shortened."""
        with self._lock:
            return [_shortened(self._lines.popleft())]


def _size(page: list[str]) -> int:
    return sum(len(line.encode()) for line in page)


def _note(text: str) -> str:
    return encoded({"level": "warning", "event": text}).decode()


def _shortened(line: str) -> str:
    fields = fields_of(line)
    texts = {key: value for key, value in fields.items() if isinstance(value, str) and len(value) > _LONGEST}
    short = encoded({**fields, **{key: value[:_LONGEST] + "…" for key, value in texts.items()}})
    return short.decode() if len(short) <= _MOST_BYTES else _note(f"a line of {len(line)} characters was not sent")


def fields_of(line: str) -> dict[str, Any]:
    """Return the fields of a line: its message is ``event``. A line that is no JSON object is all ``event``."""
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError):
        return {"event": line}


class LogReader:
    """Reads the log of a host. Each line comes once."""

    def __init__(self, board: Board, host: str) -> None:
        self._board = board
        self._host = host
        self._read: dict[tuple[str, int], int] = {}

    async def present(self) -> list[str]:
        """Return the lines that the board has, oldest first. Raises BoardError."""
        entries = await self._board.entries(subjects.log(self._host))
        return [line for entry in entries for line in self._new(entry.key, entry.value)]

    async def coming(self) -> AsyncGenerator[str, None]:
        """Yield new lines, and any that have not been read yet. Raises BoardError; does not end."""
        async with aclosing(self._board.watch(subjects.log(self._host))) as entries:
            async for entry in entries:
                for line in self._new(entry.key, entry.value):
                    yield line

    def _new(self, key: str, value: bytes) -> tuple[str, ...]:
        try:
            page = decode(value, LogPage)
            require_fields(page, run="", host=self._host)
        except MessageRefused as error:
            log.warning("A page of a log at %s is refused: %s", key, error)
            return ()
        read = self._read.get((page.boot, page.number), 0)
        self._read[page.boot, page.number] = max(read, len(page.lines))
        return page.lines[read:]
