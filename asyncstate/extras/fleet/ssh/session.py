"""Session: all hosts of one run over ssh, from their connections to the end of their runners."""

from __future__ import annotations

import re
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Any, Final, Self

import anyio
from msgspec.structs import asdict

from asyncstate.errors import AsyncStateError, FleetError
from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.controller.selection import require_sound
from asyncstate.extras.fleet.errors import BoardError, MessageRefused
from asyncstate.extras.fleet.local_board import LocalBoard, LocalStore
from asyncstate.extras.fleet.protocol import HostInfo, decode, encode
from asyncstate.extras.fleet.ssh import bundle, frames
from asyncstate.extras.fleet.ssh.connection import Connection, Ways
from asyncstate.extras.fleet.ssh.operator_side import OperatorSide, Tree
from asyncstate.logs import get_logger
from asyncstate.nearest import nearest
from asyncstate.sources.matchers import Matcher

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from anyio.abc import TaskGroup

    from asyncstate.config import Settings
    from asyncstate.extras.fleet.ssh.roster import RosterHost

log: logging.Logger = get_logger(__name__)

CONNECTIONS: Final = 25
"""The number of connections made at once."""
_OWN: Final = frozenset(
    "id conf_file root_dir cachedir state_dir pki_dir log_file log_level log_granular_levels file_client file_roots "
    "pillar_roots pillar grains ext_pillar concurrency event_loop journal journal_sync test states_dirs module_dirs "
    "utils_dirs grains_dirs render_dirs trust_writable".split()
)
"""Settings of this machine that hosts do not get."""
_BY_GRAINS: Final = re.compile(r"(?:^|[\s(])[GPIJSRN]@")
"""An expression that may ask for more than IDs."""


class Unsigned:
    """The operator of a run over ssh, the only writer to hosts on its board, so nothing is signed."""

    def seal(self, payload: bytes, key: str) -> bytes:
        """Return the payload as it is."""
        del key
        return payload

    def open(self, sealed: bytes, key: str) -> bytes:
        """Return the payload as it is."""
        del key
        return sealed


class Session:
    """The hosts of a roster that match a target, connected, as ``async with``.

    ``board`` is the operator's. ``failed`` has the reasons why hosts cannot take part, by ID; ``say`` gets lines
    about connected hosts. A host has ``deadline`` seconds to describe itself. Raises FleetError if no host matches.
    """

    def __init__(
        self,
        roster: Sequence[RosterHost],
        settings: Settings,
        target: str,
        ways: Ways,
        *,
        connections: int = CONNECTIONS,
        deadline: float = 60.0,
        lease: float = 5.0,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.failed: dict[str, str] = {}
        self.hosts: list[str] = []
        self._roster = roster
        self._settings = settings
        self._target = target
        self._ways = ways
        self._room = anyio.Semaphore(connections)
        self._deadline = deadline
        self._lease = lease
        self._say = say
        self._tree = Tree(settings)
        self._store = LocalStore()
        self._bundle = bundle.Bundle(b"", "")
        self._ready: dict[str, anyio.Event] = {}
        self._over = anyio.Event()
        self._stack = AsyncExitStack()
        self._group: TaskGroup | None = None

    @property
    def board(self) -> LocalBoard:
        """The operator's board."""
        return self._store.board()

    async def __aenter__(self) -> Self:
        """Connect all hosts that may match the target, and wait until each has described itself, or failed."""
        candidates = self._candidates()
        self._bundle = await bundle.made(self._settings.cachedir)
        group = self._group = await self._stack.enter_async_context(anyio.create_task_group())
        try:
            self._ready = {host.id: anyio.Event() for host in candidates}
            for host in candidates:
                group.start_soon(self._serve, host)
            for ready in self._ready.values():
                await ready.wait()
            self.hosts = self._targeted()
            self._introduce_failed()
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the runners end. An exception of the block is raised unchanged, not as a host's failure."""
        self._over.set()
        await self._stack.aclose()

    def _fits(self, id_: str, grains: dict[str, Any]) -> bool:
        return Matcher({"id": id_, "nodegroups": self._settings.nodegroups}, grains, {}).compound(self._target)

    def _candidates(self) -> list[RosterHost]:
        """Return the hosts that may match the target: all if it matches grains, which only the hosts know."""
        require_sound(self._target, self._settings.nodegroups or {})
        if _BY_GRAINS.search(self._target):
            return list(self._roster)
        found = [host for host in self._roster if self._fits(host.id, host.grains)]
        if not found:
            ids = [host.id for host in self._roster]
            near = nearest(self._target, ids)
            hint = f"did you mean {near!r}?" if near else f"the roster has {', '.join(ids[:20])}"
            raise FleetError(f"no host fits the target {self._target!r}: {hint}")
        return found

    def _targeted(self) -> list[str]:
        infos = {host.id: host.grains for host in self._roster}
        for entry in self._store.values(subjects.host()):
            _, id_ = subjects.parts(entry.key)
            try:
                infos[id_] = {**infos.get(id_, {}), **decode(entry.value, HostInfo).grains}
            except MessageRefused as error:
                self.failed.setdefault(id_, f"what it says of itself is refused: {error}")
        found = [id_ for id_ in self._ready if id_ not in self.failed and self._fits(id_, infos[id_])]
        if not found and not self.failed:
            raise FleetError(f"no host fits the target {self._target!r}: none of {len(self._ready)} has such grains")
        return found

    def _introduce_failed(self) -> None:
        """Describe hosts that cannot take part by the roster, as they cannot describe themselves."""
        for host in self._roster:
            if host.id in self.failed:
                self._store.put(subjects.host(host.id), encode(HostInfo(host=host.id, grains=dict(host.grains))))

    async def _serve(self, host: RosterHost) -> None:
        """Serve a host as long as the run goes on."""
        try:
            await self._connect(host)
        except AsyncStateError as error:
            self._fail(host.id, str(error))
        finally:
            self._ready[host.id].set()

    async def _connect(self, host: RosterHost) -> None:
        begin = frames.Begin(
            host=host.id,
            settings=self._settings_for(host),
            environments=self._tree.environments(),
            lease=self._lease,
        )
        side = OperatorSide(host.id, self._store.board(host.id), self._tree, host.minion_opts)
        async with AsyncExitStack() as stack:
            async with self._room:
                connection = await stack.enter_async_context(Connection(host, self._ways, self._bundle, begin))
            async with anyio.create_task_group() as group:
                group.start_soon(self._wait_for_words, host.id)
                group.start_soon(self._end_with_run, group)
                try:
                    await connection.serve(side)
                except BoardError as error:
                    self._fail(host.id, str(error))
                group.cancel_scope.cancel()

    async def _wait_for_words(self, id_: str) -> None:
        with anyio.move_on_after(self._deadline) as limit:
            async with aclosing(self.board.watch(subjects.host(id_))) as words:
                await anext(words)
        if limit.cancelled_caught:
            self._fail(id_, f"did not say what it is within {self._deadline:.0f} s")
        self._ready[id_].set()

    async def _end_with_run(self, group: TaskGroup) -> None:
        await self._over.wait()
        group.cancel_scope.cancel()

    def _fail(self, id_: str, why: str) -> None:
        if self._over.is_set():
            return
        if not self._ready[id_].is_set():
            self.failed.setdefault(id_, why)
        else:
            self._say(f"{id_}: the connection is lost: {why}")

    def _settings_for(self, host: RosterHost) -> dict[str, Any]:
        """Return the settings of a host: this machine's for compiling and running, and the host's own options."""
        shared, _ = self._settings.split(asdict(self._settings))
        own, extra = self._settings.split(host.minion_opts)
        return {**{name: value for name, value in shared.items() if name not in _OWN}, **own, "extra": extra}
