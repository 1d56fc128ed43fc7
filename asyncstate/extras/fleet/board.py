"""Board: the shared store of a fleet's parties, which never speak to each other directly.

It keeps the last value of every key, and a stream of messages for every subject. Its store is a server (NATS with
JetStream) or this process. `subjects` names the keys and subjects: tokens joined by dots. In a pattern, ``*`` matches
one token and a last ``>`` one or more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, Self

import anyio
import msgspec

from asyncstate.extras.fleet.errors import BoardError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable
    from types import TracebackType


_AT_ONCE: Final = 64
"""The number of values that are sent to the board at once."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A value of a key. ``revision`` rises with every change of any key."""

    key: str
    value: bytes
    revision: int


class Message(msgspec.Struct, frozen=True, gc=False):
    """A message of a stream. ``sequence`` rises from message to message, not always by one.

    ``stored`` is the time at which the board stored it, in seconds by the clock of the board.
    """

    subject: str
    data: bytes
    sequence: int
    stored: float


def first_error(errors: BaseExceptionGroup[BoardError]) -> BoardError:
    """Return one of the errors that the tasks of a group have raised.

    Raise it after the ``except*``: what is raised within becomes part of a new group (Python 3.11.2).
    """
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, BoardError) else BoardError(str(error))


async def put_all(board: Board, values: Iterable[tuple[str, bytes]]) -> None:
    """Set keys, many at once and in no order. Raises a group of `BoardError`; then some may be set."""
    found = list(values)
    left = iter(found)

    async def put() -> None:
        for key, value in left:
            await board.put(key, value)

    async with anyio.create_task_group() as group:
        for _ in range(min(_AT_ONCE, len(found))):
            group.start_soon(put)


class Board(Protocol):
    """A connection to the board, as one party. Used by several tasks of one event loop at once.

    A lost connection is re-established, and every call waits for it; an iterator goes on where it was. All methods
    raise `BoardError` once reconnecting has been given up, when the server refuses a key or subject to this party, and
    when a value is too large. Writing the same twice has the effect of writing it once.
    """

    async def __aenter__(self) -> Self:
        """Connect. Raises `BoardError` if there is no server, or it refuses this party."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect, after what was written has been sent."""

    async def put(self, key: str, value: bytes) -> None:
        """Set a key. Returns once the board has stored it durably."""

    async def get(self, key: str) -> bytes | None:
        """Return the last value of a key, None if it has none."""

    async def entries(self, pattern: str) -> list[Entry]:
        """Return the present values of all matching keys, by rising revision."""

    def watch(self, pattern: str) -> AsyncGenerator[Entry, None]:
        """Yield the present value of each matching key, by rising revision, then each change. It does not end.

        Every revision comes once, in order. A value that was replaced before it was sent may be left out, but never
        the last one of a key.
        """

    async def publish(self, subject: str, data: bytes, *, id: str) -> None:
        """Append a message to the stream of a subject. Returns once the board has stored it durably.

        A message whose ``id`` the subject has seen within the last minutes is dropped.
        """

    def messages(self, subject: str, *, since: int = 0) -> AsyncGenerator[Message, None]:
        """Yield the messages of all matching subjects after sequence ``since``, then new ones. It does not end.

        Each comes once unless its ``id`` was sent again much later: parties number messages that must count once.
        """

    async def position(self) -> int:
        """Return the sequence of the last message so far: `messages` since then yields only new ones.

        For operators only.
        """
