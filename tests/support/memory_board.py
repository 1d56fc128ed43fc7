"""A board in this process, for the virtual clock: with the permissions of a server, and with faults."""

from __future__ import annotations

import asyncio
import random

from asyncstate.errors import BoardError, BoardRefused, MessageRefused, ValueTooLarge
from asyncstate.fleet import subjects
from asyncstate.fleet.board import Entry, Message


def fits(pattern, key):
    words, tokens = pattern.split("."), key.split(".")
    if words[-1] == ">":
        return len(tokens) >= len(words) and all(w in ("*", t) for w, t in zip(words[:-1], tokens, strict=False))
    return len(words) == len(tokens) and all(word in ("*", token) for word, token in zip(words, tokens, strict=True))


class MemoryServer:
    """What all parties share. ``slow`` is the most seconds that anything takes, ``again`` how often a write comes twice.

    ``cut`` are the parties that have no connection now: what they do waits. Values of more than ``most`` bytes are
    refused, and keys of hosts that begin with ``refused``.
    """

    def __init__(self, seed=0, slow=0.0, again=0.0, most=1 << 30):
        self.most = most
        self.refused = ""
        self.random = random.Random(seed)
        self.slow = slow
        self.again = again
        self.cut = set()
        self.gone = set()
        self._last = {}
        self._revision = 0
        self.stream = []
        self._ids = set()
        self._news = asyncio.Event()

    def board(self, party=None):
        """The board of a host, or of the operator (None)."""
        return MemoryBoard(self, party)

    def put(self, key, value):
        for _ in range(1 + (self.random.random() < self.again)):
            self._revision += 1
            self._last[key] = Entry(key, value, self._revision)
        self.ring()

    def forget(self, key):
        del self._last[key]

    def publish(self, subject, data, id):
        if (subject, id) in self._ids and self.random.random() >= self.again:
            return
        self._ids.add((subject, id))
        self.stream.append(Message(subject, data, len(self.stream) + 1, asyncio.get_running_loop().time()))
        self.ring()

    def values(self, pattern):
        found = [entry for key, entry in self._last.items() if fits(pattern, key)]
        return sorted(found, key=lambda entry: entry.revision)

    def ring(self):
        self._news.set()
        self._news = asyncio.Event()

    async def news(self):
        await self._news.wait()

    async def way(self, party):
        """How long something takes to or from a party; for ever long while it is cut off."""
        await asyncio.sleep(self.random.uniform(0, self.slow))
        while party in self.cut:
            await self.news()
        if party in self.gone:
            raise BoardError(f"{party} has no connection any more")

    def cut_off(self, party):
        self.cut.add(party)

    def heal(self, party):
        self.cut.discard(party)
        self.ring()

    def give_up(self, party):
        self.gone.add(party)
        self.heal(party)


class MemoryBoard:
    def __init__(self, server, party):
        self._server = server
        self._party = party
        own = (
            []
            if party is None
            else [each for each in subjects.written_by(party) if each.partition(".")[0] not in subjects.STREAMS]
        )
        self._reads = subjects.READ_BY_OPERATOR if party is None else (*subjects.read_by(party), *own)
        self._writes = subjects.WRITTEN_BY_OPERATOR if party is None else subjects.written_by(party)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None

    def _require(self, allowed, name):
        if not any(covers(pattern, name) for pattern in allowed):
            raise BoardError(f"{self._party or 'the operator'} may not use {name}")

    def _require_taken(self, key, value):
        if len(value) > self._server.most:
            raise ValueTooLarge(f"{len(value)} bytes are more than the server takes at once ({self._server.most})")
        if self._party is not None and key.startswith(self._server.refused or "\0"):
            raise BoardRefused(f"the server does not allow {self._party} to use {key}")

    async def put(self, key, value):
        self._require(self._writes, key)
        self._require_taken(key, value)
        await self._server.way(self._party)
        self._server.put(key, value)
        await self._server.way(self._party)

    async def get(self, key):
        self._require(self._reads, key)
        await self._server.way(self._party)
        found = self._server.values(key)
        return found[0].value if found else None

    async def entries(self, pattern):
        self._require(self._reads, pattern)
        await self._server.way(self._party)
        return self._server.values(pattern)

    async def watch(self, pattern):
        self._require(self._reads, pattern)
        seen = 0
        while True:
            for entry in [each for each in self._server.values(pattern) if each.revision > seen]:
                await self._server.way(self._party)
                seen = entry.revision
                yield entry
            if not [each for each in self._server.values(pattern) if each.revision > seen]:
                await self._server.news()

    async def publish(self, subject, data, *, id):
        self._require(self._writes, subject)
        self._require_taken(subject, data)
        await self._server.way(self._party)
        self._server.publish(subject, data, id)
        await self._server.way(self._party)

    async def position(self):
        if self._party is not None:
            raise BoardError(f"{self._party} may not ask for the position")
        await self._server.way(self._party)
        return len(self._server.stream)

    async def messages(self, subject, *, since=0):
        self._require(self._reads, subject)
        while True:
            for message in self._server.stream[since:]:
                since = message.sequence
                if fits(subject, message.subject):
                    await self._server.way(self._party)
                    yield message
            if len(self._server.stream) == since:
                await self._server.news()


def covers(pattern, name):
    """Whether all that a name or pattern stands for fits a pattern."""
    words, tokens = pattern.split("."), name.split(".")
    for place, word in enumerate(words):
        if word == ">":
            return len(tokens) > place
        if place >= len(tokens) or tokens[place] == ">" or word not in ("*", tokens[place]):
            return False
    return len(words) == len(tokens)


class Seal:
    """A signature that anybody could make: an operator's name, and the key that it is for."""

    def __init__(self, name="operator"):
        self.name = name

    def seal(self, payload, key):
        return f"{self.name} {key}\n".encode() + payload

    def open(self, sealed, key):
        head, _, payload = sealed.partition(b"\n")
        if head != f"{self.name} {key}".encode():
            raise MessageRefused("the signature is not the operator's, or not for this key")
        return payload
