"""A board in this process, for parties without a server between them. The access rules are a server's.

`LocalStore` keeps the values and the messages, `LocalBoard` is one party's `asyncstate.extras.fleet.board.Board` on it.
Nothing outlives the process; only a server is durable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import anyio

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.board import Entry, Message
from asyncstate.extras.fleet.errors import BoardError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator
    from types import TracebackType


def fits(pattern: str, key: str) -> bool:
    """Return whether a key, or a subject, fits a pattern."""
    words, tokens = pattern.split("."), key.split(".")
    if words[-1] == ">":
        return len(tokens) >= len(words) and all(map(_fits_word, words[:-1], tokens))
    return len(words) == len(tokens) and all(map(_fits_word, words, tokens))


def _fits_word(word: str, token: str) -> bool:
    return word in {"*", token}


def covers(pattern: str, name: str) -> bool:
    """Return whether everything that ``name``, a key, subject or pattern, matches fits ``pattern``."""
    words, tokens = pattern.split("."), name.split(".")
    for place, word in enumerate(words):
        if word == ">":
            return len(tokens) > place
        if place >= len(tokens) or tokens[place] == ">" or word not in {"*", tokens[place]}:
            return False
    return len(words) == len(tokens)


class _Reader:
    """The queue of one iterator: entries that it has not taken yet, of each key the last only."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.entries: dict[str, Entry] = {}
        self.messages: list[Message] = []
        self.news: anyio.Event = anyio.Event()

    def ring(self) -> None:
        self.news.set()

    async def wait(self) -> None:
        self.news = anyio.Event()
        if not self.entries and not self.messages:
            await self.news.wait()


class LocalStore:
    """The store shared by all parties. It belongs to one event loop."""

    def __init__(self) -> None:
        self._last: dict[str, Entry] = {}
        self._revision = 0
        self._stream: list[Message] = []
        self._ids: set[tuple[str, str]] = set()
        self._readers: list[_Reader] = []

    def board(self, host: str | None = None) -> LocalBoard:
        """Return the board of a host, or of the operator (None)."""
        return LocalBoard(self, host)

    def put(self, key: str, value: bytes) -> None:
        """Set a key."""
        self._revision += 1
        entry = self._last[key] = Entry(key, value, self._revision)
        for reader in self._readers:
            if fits(reader.pattern, key):
                reader.entries.pop(key, None)  # the last change decides the order
                reader.entries[key] = entry
                reader.ring()

    def forget(self, key: str) -> None:
        """Remove a key."""
        del self._last[key]

    def value(self, key: str) -> bytes | None:
        """Return the last value of a key."""
        found = self._last.get(key)
        return None if found is None else found.value

    def values(self, pattern: str) -> list[Entry]:
        """Return the values that the keys which fit have now, by rising revision."""
        found = (entry for key, entry in self._last.items() if fits(pattern, key))
        return sorted(found, key=lambda entry: entry.revision)

    def publish(self, subject: str, data: bytes, id: str) -> None:
        """Append a message, once for each subject and ``id``."""
        if (subject, id) in self._ids:
            return
        self._ids.add((subject, id))
        message = Message(subject, data, len(self._stream) + 1, anyio.current_time())
        self._stream.append(message)
        for reader in self._readers:
            if fits(reader.pattern, subject):
                reader.messages.append(message)
                reader.ring()

    @property
    def position(self) -> int:
        """The sequence of the last message."""
        return len(self._stream)

    def past(self, pattern: str, since: int) -> Iterator[Message]:
        """Yield the messages of all matching subjects after sequence ``since``."""
        return (message for message in self._stream[since:] if fits(pattern, message.subject))

    def open(self, reader: _Reader) -> None:
        """Give a reader new entries from now on."""
        self._readers.append(reader)

    def close(self, reader: _Reader) -> None:
        """Forget a reader."""
        self._readers.remove(reader)


class LocalBoard:
    """The board of one party, limited to its access rights in `asyncstate.extras.fleet.subjects`."""

    def __init__(self, store: LocalStore, host: str | None) -> None:
        self._store = store
        self._party = host
        self._writes: tuple[str, ...] = subjects.WRITTEN_BY_OPERATOR if host is None else subjects.written_by(host)
        self._reads: tuple[str, ...] = subjects.READ_BY_OPERATOR
        if host is not None:
            own = (each for each in self._writes if each.partition(".")[0] not in subjects.STREAMS)
            self._reads = (*subjects.read_by(host), *own)

    async def __aenter__(self) -> Self:
        """Do nothing: there is nothing to connect to."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing."""

    def _require(self, allowed: tuple[str, ...], name: str) -> None:
        if not any(covers(pattern, name) for pattern in allowed):
            raise BoardError(f"{self._party or 'the operator'} may not use {name}")

    async def put(self, key: str, value: bytes) -> None:
        """Set a key."""
        self._require(self._writes, key)
        self._store.put(key, value)

    async def get(self, key: str) -> bytes | None:
        """Return the last value of a key, None if it has none."""
        self._require(self._reads, key)
        return self._store.value(key)

    async def entries(self, pattern: str) -> list[Entry]:
        """Return the values that the keys which fit have now, by rising revision."""
        self._require(self._reads, pattern)
        return self._store.values(pattern)

    async def watch(self, pattern: str) -> AsyncGenerator[Entry, None]:
        """Yield what each key that fits has, by rising revision, then each change."""
        self._require(self._reads, pattern)
        reader = _Reader(pattern)
        reader.entries = {entry.key: entry for entry in self._store.values(pattern)}
        self._store.open(reader)
        try:
            while True:
                while reader.entries:
                    yield reader.entries.pop(next(iter(reader.entries)))
                await reader.wait()
        finally:
            self._store.close(reader)

    async def publish(self, subject: str, data: bytes, *, id: str) -> None:
        """Append a message to the stream of a subject, once for each ``id``."""
        self._require(self._writes, subject)
        self._store.publish(subject, data, id)

    async def position(self) -> int:
        """Return the sequence of the last message so far."""
        if self._party is not None:
            raise BoardError(f"{self._party} may not ask for the position")
        return self._store.position

    async def messages(self, subject: str, *, since: int = 0) -> AsyncGenerator[Message, None]:
        """Yield the messages of all subjects that fit, from after ``since``, then new ones."""
        self._require(self._reads, subject)
        reader = _Reader(subject)
        reader.messages = list(self._store.past(subject, since))
        self._store.open(reader)
        try:
            while True:
                taken, reader.messages = reader.messages, []
                for message in taken:
                    yield message
                await reader.wait()
        finally:
            self._store.close(reader)
