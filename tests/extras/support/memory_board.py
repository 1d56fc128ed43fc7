"""The board of one process on the virtual clock, with faults."""

from __future__ import annotations

import asyncio
import random

from asyncstate.extras.fleet.errors import BoardError, BoardRefused, MessageRefused, ValueTooLarge
from asyncstate.extras.fleet.local_board import LocalBoard, LocalStore


class MemoryServer(LocalStore):
    """What all parties share. ``slow`` is the most seconds that anything takes, ``again`` how often a write comes twice.

    ``cut`` are the parties that have no connection now: what they do waits. Values of more than ``most`` bytes are
    refused, and keys of hosts that begin with ``refused``.
    """

    def __init__(self, seed=0, slow=0.0, again=0.0, most=1 << 30):
        super().__init__()
        self.most = most
        self.refused = ""
        self.random = random.Random(seed)
        self.slow = slow
        self.again = again
        self.cut = set()
        self.gone = set()
        self._healed = asyncio.Event()

    def board(self, host=None):
        return MemoryBoard(self, host)

    def put(self, key, value):
        for _ in range(1 + (self.random.random() < self.again)):
            super().put(key, value)

    def publish(self, subject, data, id):
        if (subject, id) in self._ids and self.random.random() < self.again:
            self._ids.discard((subject, id))
        super().publish(subject, data, id)

    async def way(self, party):
        """How long something takes to or from a party; for ever long while it is cut off."""
        await asyncio.sleep(self.random.uniform(0, self.slow))
        while party in self.cut:
            await self._healed.wait()
        if party in self.gone:
            raise BoardError(f"{party} has no connection any more")

    def cut_off(self, party):
        self.cut.add(party)

    def heal(self, party):
        self.cut.discard(party)
        self._healed.set()
        self._healed = asyncio.Event()

    def give_up(self, party):
        self.gone.add(party)
        self.heal(party)


class MemoryBoard(LocalBoard):
    async def _way(self):
        await self._store.way(self._party)

    def _require_taken(self, key, value):
        if len(value) > self._store.most:
            raise ValueTooLarge(f"{len(value)} bytes are more than the server takes at once ({self._store.most})")
        if self._party is not None and key.startswith(self._store.refused or "\0"):
            raise BoardRefused(f"the server does not allow {self._party} to use {key}")

    async def put(self, key, value):
        self._require(self._writes, key)
        self._require_taken(key, value)
        await self._way()
        await super().put(key, value)
        await self._way()

    async def get(self, key):
        self._require(self._reads, key)
        await self._way()
        return await super().get(key)

    async def entries(self, pattern):
        self._require(self._reads, pattern)
        await self._way()
        return await super().entries(pattern)

    async def watch(self, pattern):
        async for entry in super().watch(pattern):
            await self._way()
            yield entry

    async def publish(self, subject, data, *, id):
        self._require(self._writes, subject)
        self._require_taken(subject, data)
        await self._way()
        await super().publish(subject, data, id=id)
        await self._way()

    async def position(self):
        await self._way()
        return await super().position()

    async def messages(self, subject, *, since=0):
        async for message in super().messages(subject, since=since):
            await self._way()
            yield message


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
