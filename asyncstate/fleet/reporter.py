"""Reporter: sends the events of a host's run to the operator, in numbered batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio
import msgspec

from asyncstate.fleet import subjects
from asyncstate.fleet.protocol import Report, encode
from asyncstate.model.encode import json_bytes
from asyncstate.model.event import ChunkFinished, encode_event

if TYPE_CHECKING:
    from asyncstate.fleet.board import Board
    from asyncstate.model.event import AnyEvent

_MOST_BYTES: Final = 256 << 10
"""A report has no more than this, and at least one event."""
_LARGEST: Final = 4 << 20
"""Bytes of an event. Servers take messages of 8 MiB; what is left out is still in the journal of the host."""
_SHORT: Final = 4096
_PAUSE: Final = 0.1
"""Seconds between two reports, so that the events of many short states share one."""


class Reporter:
    """The reports of one attempt of a run."""

    def __init__(self, board: Board, run: str, host: str, attempt: int) -> None:
        self._board = board
        self._run = run
        self._host = host
        self._attempt = attempt
        self._sequence = 0
        self._events: list[bytes] = []
        self._batch: list[bytes] = []
        self._news = anyio.Event()

    def on_event(self, event: AnyEvent) -> None:
        """Take an event of the run, as it is shown."""
        self._events.append(_fitting(event))
        self._news.set()

    async def send(self) -> None:
        """Send what there is, again and again. Does not end."""
        while True:
            await self._flush()
            self._news = anyio.Event()
            if not self._events:
                await self._news.wait()
            await anyio.sleep(_PAUSE)

    async def end(self, ended: str) -> None:
        """Send what is left, and that it was all."""
        await self._flush()
        await self._publish([], ended)

    async def _flush(self) -> None:
        while self._batch or self._events:
            # A batch that was cut off while it was sent is sent again as it was: it may have arrived under its number.
            self._batch = self._batch or self._next_batch()
            await self._publish(self._batch, "")
            self._batch = []

    def _next_batch(self) -> list[bytes]:
        size = count = 0
        while count < len(self._events) and (not count or size + len(self._events[count]) <= _MOST_BYTES):
            size += len(self._events[count])
            count += 1
        batch, self._events = self._events[:count], self._events[count:]
        return batch

    async def _publish(self, events: list[bytes], ended: str) -> None:
        report = Report(
            run=self._run,
            host=self._host,
            attempt=self._attempt,
            seq=self._sequence,
            events=tuple(map(msgspec.Raw, events)),
            ended=ended,
        )
        name = f"{self._run}/{self._host}/{self._attempt}/{self._sequence}"
        await self._board.publish(subjects.report(self._host, self._run), encode(report), id=name)
        self._sequence += 1


def _fitting(event: AnyEvent) -> bytes:
    """Return an event as bytes; of a row that is too large, what says how the state ended."""
    data = encode_event(event)
    if len(data) <= _LARGEST or not isinstance(event, ChunkFinished):
        return data
    said = f"{len(data) / (1 << 20):.1f} MiB are too much to be sent: the journal of this host has all of it"
    row = {key: value for key, value in event.row.items() if len(json_bytes(value)) <= _SHORT}
    row["changes"] = event.row["changes"] and {"left out": said}
    row["comment"] = f"{str(event.row['comment'])[:_SHORT]}\n{said}"
    return encode_event(msgspec.structs.replace(event, row=row, sub_rows={}))
