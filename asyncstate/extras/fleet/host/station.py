"""Interfaces that an agent needs of its host: compilation, runs, and storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

import msgspec

from asyncstate.extras.fleet.protocol import Offer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from types import TracebackType

    from asyncstate.extras.fleet.host.partition import Partition, Shown
    from asyncstate.extras.fleet.host.peers import Peers
    from asyncstate.model.event import AnyEvent
    from asyncstate.model.plan import Plan


class Kept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The stored state of a run, from which it goes on after its agent was killed.

    ``go`` is the message as it came, signed. ``attempt`` counts starts. ``ended`` is the one of the last report.
    """

    offer: Offer
    nonce: str = ""
    digest: str = ""
    go: bytes = b""
    attempt: int = 0
    ended: str = ""


class Memory(Protocol):
    """The durable storage of a host's runs."""

    async def load(self) -> dict[str, Kept]:
        """Return all stored runs, by ID. Raises FleetError."""

    async def save(self, kept: Kept) -> None:
        """Store the state of a run, on disk before it returns. Raises FleetError."""


class Running(Protocol):
    """A run under way: a `asyncstate.run.handle.Run`. Leaving its block waits for its end."""

    async def __aenter__(self) -> Self:
        """Start."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Wait for the end."""

    def stop(self, reason: str) -> None:
        """Start nothing more."""

    def cancel(self, reason: str) -> None:
        """Start nothing more, and end running states."""


class Prepared(Protocol):
    """A compiled part."""

    @property
    def plan(self) -> Plan:
        """The plan, with its requisites on other hosts unresolved."""

    @property
    def shown(self) -> Shown:
        """The plan as shown to others, without secrets."""

    @property
    def unfit(self) -> tuple[str, ...]:
        """The exclusions of the offer that fit nothing in the tree."""

    def can_watch(self, module: str) -> bool:
        """Whether a state module has ``mod_watch``."""

    async def past_events(self) -> Sequence[AnyEvent] | None:
        """Return the events of this run if it has ended on this host before, else None."""

    async def start(
        self, part: Partition, others: Peers, observe: Callable[[AnyEvent], None], *, again: bool
    ) -> Running:
        """Return the run of a part. With ``again`` it resumes a run that was cut off here, if there is one."""


class Station(Protocol):
    """A host, as its agent uses it."""

    async def grains(self) -> Mapping[str, Any]:
        """Return the grains of the host, for targets."""

    def prepare(self, offer: Offer) -> AbstractAsyncContextManager[Prepared]:
        """Compile an offer; the block is left when its run is over. Raises CompileError and other errors."""
