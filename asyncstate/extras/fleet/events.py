"""Events: tagged messages from hosts to operators, and the waits for them."""

from __future__ import annotations

import os
import re
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.errors import MessageRefused
from asyncstate.extras.fleet.protocol import HostEvent, decode, encode, require_fields
from asyncstate.logs import get_logger

if TYPE_CHECKING:
    import logging
    from collections.abc import AsyncGenerator, Mapping

    from asyncstate.extras.fleet.board import Board

log: logging.Logger = get_logger(__name__)

_OF_A_MINION: Final = re.compile(r"salt/minion/([^/]*)/.*", re.DOTALL)
"""Tags that name the host that fired them."""


class HostEvents:
    """Fires events of one host."""

    def __init__(self, board: Board, host: str) -> None:
        self._board = board
        self._host = host

    async def fire(self, tag: str, data: Mapping[str, Any]) -> None:
        """Fire an event. Returns once the board keeps it. Raises BoardError."""
        event = HostEvent(host=self._host, tag=tag, data=dict(data))
        await self._board.publish(subjects.event(self._host), encode(event), id=os.urandom(16).hex())


async def events_since(board: Board, position: int) -> AsyncGenerator[HostEvent, None]:
    """Yield the events of all hosts that come after a position of the board (`Board.position`). It does not end.

    Events that a host fires in the name of another are ignored. Raises BoardError.
    """
    async with aclosing(board.messages(subjects.event(), since=position)) as messages:
        async for message in messages:
            try:
                _, host = subjects.parts(message.subject)
                event = decode(message.data, HostEvent)
                require_fields(event, run="", host=host)
                _require_own(event)
            except (MessageRefused, ValueError) as error:
                log.warning("An event at %s is refused: %s", message.subject, error)
                continue
            yield event


def _require_own(event: HostEvent) -> None:
    named = _OF_A_MINION.fullmatch(event.tag)
    if named and named[1] != event.host:
        raise MessageRefused(f"host {event.host} fires {event.tag!r}, which is of host {named[1]!r}")
