"""A connection between a party and a server that a test can cut, stall and heal: TCP, passed on byte by byte."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Self


class Line:
    """``async with Line(port) as line``: ``line.url`` leads to the server on that port of this machine."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listening: asyncio.Server | None = None
        self._ends: set[asyncio.StreamWriter] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._own = 0
        self.cuts = 0
        self.rate = 0
        """Bytes a second that go through in one direction; 0: as many as come."""

    @property
    def url(self) -> str:
        return f"tls://127.0.0.1:{self._own}"

    async def __aenter__(self) -> Self:
        await self.heal()
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._flowing.set()
        await self.cut()

    async def cut(self) -> None:
        """Close all connections, and refuse new ones until `heal`."""
        self.cuts += 1
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        for end in list(self._ends):
            end.transport.abort()
        await asyncio.sleep(0)

    async def heal(self) -> None:
        """Accept connections (again, at the same address), and let bytes flow."""
        self._flowing.set()
        if self._listening is None:
            self._listening = await asyncio.start_server(self._connected, "127.0.0.1", self._own)
            self._own = self._listening.sockets[0].getsockname()[1]

    def stall(self) -> None:
        """Let no byte through, and close nothing: as a network does that drops packets."""
        self._flowing.clear()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            writer.close()
            return
        ends = {writer, far_writer}
        self._ends |= ends
        try:
            await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))
        finally:
            self._ends -= ends
            for end in ends:
                end.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(max(self.rate // 10, 1) if self.rate else 65536):
                await self._flowing.wait()
                await asyncio.sleep(len(data) / self.rate if self.rate else 0)
                writer.write(data)
                await writer.drain()
        with suppress(OSError):
            writer.close()
