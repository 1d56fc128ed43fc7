"""Events as JSON lines, written as they happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from asyncstate.model.event import encode_event

if TYPE_CHECKING:
    from asyncstate.model.event import Event


class JsonLines:
    """Writes one line an event to ``stream``; `asyncstate.model.event.decode_event` reads it back.

    When the reader goes away the run goes on: ``broken`` is set and nothing more is written.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.broken = False

    def on_event(self, event: Event) -> None:
        """Write and flush one event."""
        if self.broken:
            return
        try:
            self._stream.write(encode_event(event) + b"\n")
            self._stream.flush()
        except BrokenPipeError:
            self.broken = True
