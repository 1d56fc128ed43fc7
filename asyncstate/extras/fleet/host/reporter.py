"""Reporter: sends the events of a host's run to the operator, in numbered batches."""

from __future__ import annotations

import hashlib
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import anyio
import msgspec

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.errors import BoardRefused, ValueTooLarge
from asyncstate.extras.fleet.protocol import Report, encode
from asyncstate.logs import get_logger
from asyncstate.model.encode import encoded
from asyncstate.model.event import encode_event

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

    from asyncstate.extras.fleet.board import Board
    from asyncstate.model.event import AnyEvent

log: logging.Logger = get_logger(__name__)

_FIRST_BYTES: Final = 16 << 10
_MOST_BYTES: Final = 256 << 10
"""The largest report, unless it is one event. Reports start smaller, and grow while they are sent quickly.

Signs of life wait behind a report, so a large one on a slow link would make a live host look lost.
"""
_QUICK: Final = 1.0
_SLOW: Final = 4.0
"""Seconds for sending a report below which reports grow, and above which they shrink."""
_LONGEST_SEND: Final = 20.0
"""Seconds that a report may take on a slow link; an event that takes longer is shortened to the state's outcome."""
_SLOWEST: Final = 4000
"""Bytes a second of a link that is not measured yet."""
_LARGEST: Final = 4 << 20
"""The largest event in bytes that is sent in full: servers take messages of 8 MiB. The host's journal has all."""
_SHORT: Final = 4096
_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 3.0
"""Seconds between two reports, so that the events of many short states share one: at least, and at most."""
_SHARE: Final = 5
"""The pause is N times the duration of the last report: a busy server gets fewer and larger ones."""


class Reporter:
    """The reports of one attempt of a run. Events that the board refuses are lost; the last report has their number."""

    def __init__(self, board: Board, run: str, host: str, attempt: int) -> None:
        self._board = board
        self._run = run
        self._host = host
        self._attempt = attempt
        self._sequence = 0
        self._events: list[bytes] = []
        self._batch: list[bytes] = []
        self._lost = 0
        self._exit_code = 2
        self._most = _FIRST_BYTES
        self._longest = _LONGEST_SEND * _SLOWEST
        self._measured = False
        self._news = anyio.Event()

    def on_event(self, event: AnyEvent) -> None:
        """Take an event of the run, without secrets."""
        if event.end_of_run is not None:
            self._exit_code = event.end_of_run
        self._events.append(_fitting(event))
        self._news.set()

    async def send(self) -> None:
        """Send events as they come. Does not end."""
        while True:
            began = anyio.current_time()
            await self._flush(len(self._batch) + len(self._events))  # events that come meanwhile share the next report
            took = anyio.current_time() - began
            self._news = anyio.Event()
            if not self._events:
                await self._news.wait()
            await anyio.sleep(min(max(_PAUSE, _SHARE * took), _LONGEST_PAUSE))

    async def end(self, ended: str) -> None:
        """Send the remaining events and the end: the board has room for the end even if it has none for reports."""
        await self._flush(len(self._batch) + len(self._events))
        try:
            await self._publish([], ended)
        except BoardRefused:
            await self._board.put(subjects.end(self._host, self._run), encode(self._report([], ended)))

    async def _flush(self, count: int) -> None:
        """Send ``count`` events, and any that share a report with them."""
        while count > 0:
            # What was cancelled while it was sent is repeated unchanged: it may have arrived under its number.
            if not self._batch:
                if not self._measured and len(self._events[0]) > self._longest:
                    await self._probe()
                self._batch = self._next_batch()
            try:
                await self._publish(self._batch, "")
            except ValueTooLarge as error:
                self._split(error)
            except BoardRefused as refused:
                if not self._lost:
                    log.warning(
                        "The server refuses reports of run %s; it continues without them: %s", self._run, refused
                    )
                self._lost += len(self._batch)
                count -= len(self._batch)
                self._batch = []
            else:
                count -= len(self._batch)
                self._batch = []

    async def _probe(self) -> None:
        """Measure the link by a report without events, before it may be occupied for too long."""
        with suppress(BoardRefused, ValueTooLarge):
            await self._publish([], "", hashlib.shake_256().hexdigest(_FIRST_BYTES))
        self._measured = True

    def _measure(self, size: int, took: float) -> None:
        """Adapt reports to the time that one of ``size`` bytes took. A small one tells nothing about throughput."""
        if size < _FIRST_BYTES // 2:
            return
        self._measured = True
        self._longest = size / took * _LONGEST_SEND if took else math.inf
        if took < _QUICK:
            self._most = min(2 * self._most, _MOST_BYTES)
        elif took > _SLOW:
            self._most = max(self._most // 2, _FIRST_BYTES // 2)

    def _split(self, error: ValueTooLarge) -> None:
        """Make the batch smaller: half of its events, or the only one shortened. Raises the error if that is no use."""
        half = len(self._batch) // 2
        if half:
            self._events[:0] = self._batch[half:]
            self._batch = self._batch[:half]
            return
        short = _shortened(self._batch[0], str(error))
        if 2 * len(short) > len(self._batch[0]):
            raise error
        self._batch = [short]

    def _next_batch(self) -> list[bytes]:
        size = count = 0
        while count < len(self._events) and (not count or size + len(self._events[count]) <= self._most):
            size += len(self._events[count])
            count += 1
        while size > self._longest and (size := len(encode(self._report(self._events[:count], "")))) > self._longest:
            if count == 1:
                why = f"{size / 1024:.0f} KiB would take more than {_LONGEST_SEND:.0f} s on this link"
                self._events[0] = _shortened(self._events[0], why)
                break
            count //= 2
        batch, self._events = self._events[:count], self._events[count:]
        return batch

    async def _publish(self, events: list[bytes], ended: str, padding: str = "") -> None:
        report = encode(self._report(events, ended, padding))
        name = f"{self._run}/{self._host}/{self._attempt}/{self._sequence}"
        began = anyio.current_time()
        await self._board.publish(subjects.report(self._host, self._run), report, id=name)
        self._sequence += 1
        self._measure(len(report), anyio.current_time() - began)

    def _report(self, events: list[bytes], ended: str, padding: str = "") -> Report:
        return Report(
            run=self._run,
            host=self._host,
            attempt=self._attempt,
            seq=self._sequence,
            events=tuple(map(msgspec.Raw, events)),
            ended=ended,
            lost=self._lost if ended else 0,
            exit_code=self._exit_code if ended and self._lost else 2,
            padding=padding,
        )


def _fitting(event: AnyEvent) -> bytes:
    """Return an event as bytes; if it is too large, shortened to the outcome."""
    data = encode_event(event)
    if len(data) <= _LARGEST:
        return data
    return _shortened(data, f"{len(data) / (1 << 20):.1f} MiB are too much to be sent")


def _shortened(event: bytes, why: str) -> bytes:
    """Return an event without its long values, and with a comment about the omission."""
    said = f"{why}: the journal of this host has all of it"
    fields: dict[str, Any] = msgspec.json.decode(event)
    for name in _SHORTER.keys() & fields.keys():
        fields[name] = _SHORTER[name](fields[name], said)
    return encoded(fields)


def _short_row(row: dict[str, Any], said: str) -> dict[str, Any]:
    short = {key: value for key, value in row.items() if len(encoded(value)) <= _SHORT}
    short["changes"] = row["changes"] and {"left out": said}
    short["comment"] = _short_text(str(row["comment"]), said)
    return short


def _short_text(text: str, said: str) -> str:
    return f"{text[:_SHORT]}\n{said}"


_SHORTER: Final[dict[str, Callable[[Any, str], Any]]] = {
    "row": _short_row,
    "rows": lambda rows, said: {tag: _short_row(row, said) for tag, row in rows.items()},
    "sub_rows": lambda _rows, _said: {},
    "text": _short_text,
    "comment": _short_text,
}
"""The fields of events that may be long, with the function that shortens each."""
