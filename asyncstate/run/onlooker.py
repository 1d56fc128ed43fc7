"""Onlooker: an observer that needs to know of most states only that they began and ended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncstate.model.event import AnyEvent
    from asyncstate.model.result import Row


class Onlooker(ABC):
    """An observer for which no events are made of states that are as they should be, while nobody else wants any.

    An event costs some ten times what it takes to note that a state ended. If all observers are onlookers, they get no
    `ChunkReady`, and of a state that has no secrets `began` and `ended` tell them in place of events, in which case the
    row is the engine's own: it may not be changed or shown.
    """

    @abstractmethod
    def on_event(self, event: AnyEvent) -> None:
        """Take an event."""

    def __call__(self, event: AnyEvent) -> None:
        """Take an event, as any observer."""
        self.on_event(event)

    def began(self, tag: str) -> None:  # noqa: B027 - to note nothing is the choice of an onlooker
        """Note that a state begins. This stands for the event; by default, nothing is noted."""

    @abstractmethod
    def ended(self, tag: str, row: Row) -> bool:
        """Note that a state ended with this row and return True; or return False, to get the event instead."""
