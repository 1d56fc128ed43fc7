"""A line between a party and its server that repeats, delays, reorders and loses messages, unlike a TCP connection.

It has the server's own certificate, so it can read the traffic: NATS's protocol, whose frames it may exchange.
"""

from __future__ import annotations

import asyncio
import random
import ssl
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

_WITH_PAYLOAD = (b"MSG ", b"HMSG ", b"PUB ", b"HPUB ")


class MessageLine:
    """``with MessageLine(port, folder.within, late=0.2) as line``: ``line.url`` leads to the server on that port.

    ``within`` is that of a server's folder; ``again``, ``late``, ``swap`` and ``lose`` are how often a message comes
    twice, late (with all behind it), after the next one, and never. It runs in a thread of its own.
    """

    def __init__(
        self,
        port: int,
        within: Callable[[str], str],
        *,
        again: float = 0.0,
        late: float = 0.0,
        swap: float = 0.0,
        lose: float = 0.0,
        seed: int = 0,
    ) -> None:
        self._port = port
        self._within = within
        self._again = again
        self._late = late
        self._swap = swap
        self._lose = lose
        self._random = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._tasks: set[asyncio.Task[None]] = set()
        self.url = ""
        self.done = dict.fromkeys(("again", "late", "swap", "lose"), 0)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *_error: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._listen())

    async def _listen(self) -> None:
        self._end = asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        async with server:
            self.url = f"tls://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            self._ready.set()
            await self._end.wait()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, near: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        far_out = None
        try:
            far, far_out = await asyncio.open_connection("127.0.0.1", self._port)
            near_out.write(await far.readline())  # the server's greeting; both sides encrypt after it
            await near_out.drain()
            await near_out.start_tls(self._as_server())
            await far_out.start_tls(self._as_client(), server_hostname="localhost")
            ways = [self._pass(near, far_out), self._pass(far, near_out)]
            await asyncio.wait([asyncio.ensure_future(way) for way in ways], return_when=asyncio.FIRST_COMPLETED)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            for writer in filter(None, (near_out, far_out)):
                writer.transport.abort()

    def _as_server(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._within("server.pem"), self._within("server.key"))
        return context

    def _as_client(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self._within("authority.pem"))
        return context

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held = b""
        with suppress(OSError, asyncio.IncompleteReadError):
            while frame := await _frame(reader):
                message = frame.startswith(_WITH_PAYLOAD)
                if message and self._happens("lose", self._lose):
                    continue
                if message and self._happens("late", self._late):
                    await asyncio.sleep(self._random.uniform(0, 0.5))
                if message and not held and self._happens("swap", self._swap):
                    held = frame
                    continue
                repeated = message and self._happens("again", self._again)
                writer.write(frame * (2 if repeated else 1) + held)
                held = b""
                await writer.drain()

    def _happens(self, what: str, chance: float) -> bool:
        happens = self._random.random() < chance
        self.done[what] += happens
        return happens


async def _frame(reader: asyncio.StreamReader) -> bytes:
    """Return one frame of NATS's protocol: a line, and the payload whose size is its last word."""
    line = await reader.readline()
    if line.startswith(_WITH_PAYLOAD):
        line += await reader.readexactly(int(line.split()[-1]) + 2)
    return line
