"""Events as JSON lines, written as they happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from asyncstate.model.event import encode_event
from asyncstate.report.delivery import Delivery
from asyncstate.report.terminal import has_gone, without_control

if TYPE_CHECKING:
    from asyncstate.model.event import Event


class JsonLines:
    """Writes one line per event to ``stream``; `asyncstate.model.event.decode_event` reads it back.

    A slow reader does not block the run: unread lines are buffered. If the reader exits or the disk is full, the run
    goes on and nothing more is written. On a terminal, lines cannot control it.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._on_terminal = stream.isatty()
        self._delivery = Delivery(stream)

    def on_event(self, event: Event) -> None:
        """Write one event."""
        if self._delivery.error is None:
            line = encode_event(event)
            if self._on_terminal:
                line = without_control(line.decode()).encode()
            self._delivery.write(line + b"\n")

    def give_up(self) -> None:
        """Write nothing more. Safe in a signal handler."""
        self._delivery.give_up()

    def close(self) -> None:
        """Wait until the reader has all lines."""
        self._delivery.settle()

    @property
    def error(self) -> str:
        """The reason why a line could not be written; empty without one, or if the reader exited."""
        error = self._delivery.error
        if error is None or has_gone(error, self._stream):
            return ""
        return error.strerror or str(error)
