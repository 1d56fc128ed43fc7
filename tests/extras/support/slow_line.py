"""A slow link between a party and its server, in a thread: TCP with a limited byte rate in each direction."""

from __future__ import annotations

import asyncio
import threading
from typing import Self

from cut_connection import Line


class SlowLine:
    """``with SlowLine(4000) as line: line.to(server_url)``: then ``line.url`` leads to that server."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._line: Line | None = None
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def to(self, url: str) -> None:
        """Lead to a server."""
        self._line = Line(int(url.rpartition(":")[2]))
        self._line.rate = self._rate
        self._do(self._line.__aenter__())
        self.url = self._line.url

    def __exit__(self, *_error: object) -> None:
        if self._line is not None:
            self._do(self._line.__aexit__())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, what) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(30)
