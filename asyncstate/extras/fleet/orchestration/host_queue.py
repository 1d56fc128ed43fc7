"""HostQueue: steps of an orchestration that share hosts run one after another, in the order of their start.

A host takes part in one run of states at a time. Salt runs steps one by one.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


class _Turn:
    """``hosts`` is None until they are known."""

    def __init__(self) -> None:
        self.hosts: frozenset[str] | None = None


class HostQueue:
    """The steps that wait for hosts, and the ones that have them."""

    def __init__(self) -> None:
        self._turns: list[_Turn] = []
        self._news = anyio.Event()

    @asynccontextmanager
    async def turn(self, find: Callable[[], Awaitable[list[str]]]) -> AsyncIterator[list[str]]:
        """Find hosts, and reserve them for the block, after all earlier turns that share one of them."""
        own = _Turn()
        self._turns.append(own)
        try:
            hosts = await find()
            own.hosts = frozenset(hosts)
            self._ring()
            while self._must_wait(own, own.hosts):
                await self._news.wait()
            yield hosts
        finally:
            self._turns.remove(own)
            self._ring()

    def _must_wait(self, own: _Turn, hosts: frozenset[str]) -> bool:
        before = self._turns[: self._turns.index(own)]
        return any(each.hosts is None or not hosts.isdisjoint(each.hosts) for each in before)

    def _ring(self) -> None:
        self._news.set()
        self._news = anyio.Event()
