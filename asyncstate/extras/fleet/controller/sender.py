"""Sender: an operator's messages to the hosts of one run, each signed for its key on the board."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.board import put_all
from asyncstate.extras.fleet.protocol import Go, Lost, Offer, Opened, Stop, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from asyncstate.extras.fleet.board import Board
    from asyncstate.extras.fleet.protocol import Signer


class Sender:
    """Writes the messages to the hosts of one run to the board. All methods raise a group of `BoardError`."""

    def __init__(self, board: Board, signer: Signer, run: str) -> None:
        self._board = board
        self._signer = signer
        self._run = run

    async def offer(self, offer: Offer, hosts: Iterable[str]) -> None:
        """Ask hosts for their plans."""
        await self._tell((subjects.offer(host, self._run), msgspec.structs.replace(offer, host=host)) for host in hosts)

    async def hold(self, goes: Mapping[str, Go]) -> None:
        """Keep goes on the board, sealed for their keys there: a copy of one at its host's key starts nothing."""
        await self._tell((subjects.held(self._run, host), go) for host, go in goes.items())

    async def let_begin(self, goes: Mapping[str, Go]) -> None:
        """Let hosts begin."""
        await self._tell((subjects.go(host, self._run), go) for host, go in goes.items())

    async def open(self, barriers: Iterable[tuple[int, str]]) -> None:
        """Open barriers for hosts: all hosts have reached them."""
        await self._tell(
            (subjects.barrier(host, self._run, order), Opened(run=self._run, host=host, order=order))
            for order, host in barriers
        )

    async def lost(self, host: str, readers: Iterable[str], seconds: float, why: str = "") -> None:
        """Tell the hosts that wait for states of a host that it sends nothing more."""
        notice = Lost(run=self._run, lost=host, seconds=seconds, why=why)
        await self._tell(
            (subjects.lost(reader, self._run, host), msgspec.structs.replace(notice, host=reader))
            for reader in sorted(readers)
        )

    async def stop(self, hosts: Iterable[str], reason: str, *, now: bool = False) -> None:
        """Tell hosts to start nothing more; with ``now``, to end running states, too."""
        await self._tell(
            (subjects.stop(host, self._run), Stop(run=self._run, host=host, reason=reason, now=now)) for host in hosts
        )

    async def _tell(self, messages: Iterable[tuple[str, Any]]) -> None:
        await put_all(self._board, ((key, self._signer.seal(encode(message), key)) for key, message in messages))
