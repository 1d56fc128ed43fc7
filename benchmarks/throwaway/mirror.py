"""A caching HTTP proxy that is as fast as a mirror some way off: a shared rate, and a delay for each answer.

What is not in the cache is fetched once, through this machine's own network. The listening socket may belong to another
network namespace, so that what runs in there reaches the mirror and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import hashlib
import os
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    import socket
    from collections.abc import Coroutine, Iterator
    from pathlib import Path

RATE = 10_000_000
"""Bytes a second, shared by all connections."""
DELAY = 0.02
"""Seconds before each answer."""

_PIECE = 1 << 16
_T = TypeVar("_T")
_PATIENCE = 120.0


class Answer(NamedTuple):
    """What the mirror says to one URL."""

    status: int
    modified: str
    body: bytes


class Mirror:
    """Answers GET and HEAD for ``http://`` URLs from a folder, which it fills and may share. Works until `close`.

    ``requests`` and ``sent`` count answers and bytes, ``fetched`` lists the URLs that were not in the folder.
    """

    def __init__(self, folder: Path, *, rate: float = RATE, delay: float = DELAY) -> None:
        self._folder = folder
        self._rate = rate
        self._delay = delay
        self._free_at = 0.0
        self._locks: dict[str, asyncio.Lock] = {}
        self.requests = 0
        self.sent = 0
        self.fetched: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="mirror", daemon=True)
        self._thread.start()

    @contextlib.contextmanager
    def listening(self, listener: socket.socket) -> Iterator[None]:
        """Serve a listening socket for as long as the block runs, then close it."""
        server = self._do(asyncio.start_server(self._serve, sock=listener))
        try:
            yield
        finally:
            self._do(_stopped(server))

    def close(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                await self._answer(head.decode("latin-1"), writer)
        writer.close()

    async def _answer(self, head: str, writer: asyncio.StreamWriter) -> None:
        line, *rest = head.split("\r\n")
        method, url, _version = line.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in rest if each)}
        answer = await self._answer_for(method, url)
        await asyncio.sleep(self._delay)
        self.requests += 1
        since = headers.get("if-modified-since")
        if answer.status == 200 and since and since == answer.modified:
            answer = Answer(304, answer.modified, b"")
        begin = _begin_of_range(headers, answer)
        body = answer.body[begin:]
        lines = [f"HTTP/1.1 {206 if begin else answer.status} Answer", f"Content-Length: {len(body)}"]
        if answer.modified:
            lines.append(f"Last-Modified: {answer.modified}")
        if begin:
            lines.append(f"Content-Range: bytes {begin}-{len(answer.body) - 1}/{len(answer.body)}")
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        if method == "GET":
            await self._send(body, writer)
        await writer.drain()

    async def _send(self, body: bytes, writer: asyncio.StreamWriter) -> None:
        """Send at the shared rate: each piece takes its turn on the line."""
        for at in range(0, len(body), _PIECE):
            piece = body[at : at + _PIECE]
            now = time.monotonic()
            self._free_at = max(self._free_at, now) + len(piece) / self._rate
            if self._free_at > now:
                await asyncio.sleep(self._free_at - now)
            self.sent += len(piece)
            writer.write(piece)
            await writer.drain()

    async def _answer_for(self, method: str, url: str) -> Answer:
        if method not in ("GET", "HEAD") or not url.startswith("http://"):
            return Answer(501, "", b"")
        place = self._folder / hashlib.sha256(url.encode()).hexdigest()
        async with self._locks.setdefault(url, asyncio.Lock()):
            found = _cached(place)
            if found is None:
                self.fetched.append(url)
                found = await asyncio.to_thread(_fetch, url)
                if found.status in (200, 404):
                    _keep(place, found)
            return found


async def _stopped(server: asyncio.Server) -> None:
    server.close()


def _begin_of_range(headers: dict[str, str], answer: Answer) -> int:
    """Return where the wanted part begins; only ``bytes=N-`` of what has not changed since is a part."""
    wanted = headers.get("range", "")
    unchanged = headers.get("if-range", answer.modified) == answer.modified
    if answer.status == 200 and unchanged and wanted.startswith("bytes=") and wanted.endswith("-"):
        begin = wanted.removeprefix("bytes=").removesuffix("-")
        if begin.isdecimal() and int(begin) < len(answer.body):
            return int(begin)
    return 0


def _cached(place: Path) -> Answer | None:
    """Read a kept answer: a line with the status and the date, then the body."""
    try:
        head, _, body = place.read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    status, _, modified = head.decode().partition(" ")
    return Answer(int(status), modified, body)


def _keep(place: Path, answer: Answer) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as new:
        new.write(f"{answer.status} {answer.modified}\n".encode() + answer.body)
    os.replace(new.name, place)


def _fetch(url: str) -> Answer:
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE) as reply:
            modified = reply.headers.get("Last-Modified") or email.utils.formatdate(0, usegmt=True)
            return Answer(200, modified, reply.read())
    except urllib.error.HTTPError as error:
        return Answer(error.code, "", b"")
    except OSError:
        return Answer(502, "", b"")
