"""Writes events as JSON lines, as they happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from asyncstate.model.event import encode_event
from asyncstate.report.terminal import has_gone

if TYPE_CHECKING:
    from asyncstate.model.event import Event


class JsonLines:
    """Writes one line per event to ``stream``; `asyncstate.model.event.decode_event` reads it back.

    If the reader goes away or the disk is full, the run goes on and nothing more is written. ``error`` is the reason,
    except that it stays empty if the reader went away.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.error: str = ""
        self._closed = False

    def on_event(self, event: Event) -> None:
        """Write and flush one event."""
        if self._closed:
            return
        try:
            self._stream.write(encode_event(event) + b"\n")
            self._stream.flush()
        except OSError as error:
            self._closed = True
            if not has_gone(error, self._stream):
                self.error = error.strerror or str(error)
