"""A demo fleet on this machine: a server and three agents, each a process with a tree and folders of its own.

    DIR/server/            the folder of the server
    DIR/db1/ app1/ lb1/    a host each: tree/, root/ (what its states make), state/ (its journal), cache/, agent.yaml,
                           agent.creds, agent.log

Needs neither root nor a network: the server listens on a free port of 127.0.0.1.
"""

from __future__ import annotations

import os
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import anyio
import msgspec

from asyncstate import filesystem
from asyncstate.errors import FleetError
from asyncstate.extras.fleet import credentials, subjects
from asyncstate.extras.fleet.nats.board import NatsBoard
from asyncstate.extras.fleet.nats.folder import Folder
from asyncstate.extras.fleet.nats.server import Server, find_program
from asyncstate.extras.fleet.service import Service
from asyncstate.model.encode import encoded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

HOSTS: Final = {"db1": "database", "app1": "application", "lb1": "balancer"}
"""The hosts and their roles, in the order in which they come into their state."""
_START: Final = 60.0
"""Seconds that agents may take to start, on a busy machine."""
_STOP: Final = 15.0
_LAST_LINES: Final = 3


class DemoFleet:
    """A fleet in the folder ``path``. Existing files stay: changed trees are applied as they are."""

    def __init__(self, path: str) -> None:
        self.path: str = os.path.abspath(path)
        self.server: Folder = Folder(os.path.join(self.path, "server"))

    @property
    def url(self) -> str:
        """The address of the server."""
        return self.server.server_url()

    @property
    def operator_creds(self) -> str:
        """The file with the operator's credentials."""
        return self.server.within("operator.creds")

    @asynccontextmanager
    async def running(self, address: str) -> AsyncIterator[None]:
        """Run the server at this address and the agents in the block. Raises FleetError."""
        program = find_program()
        self.server.prepare(address, (), None, program.version)
        for host, role in HOSTS.items():
            self._prepare(host, role)
        async with AsyncExitStack() as stack:
            server = Server(self.server, program.path)
            stack.push_async_callback(server.stop)
            await server.start()
            async with NatsBoard(self.url, self.server.operator()) as board:
                before = {entry.key: entry.value for entry in await board.entries(subjects.lease())}
                agents = {host: self._start(host) for host in HOSTS}
                stack.push_async_callback(_stop, list(agents.values()))
                await self._until_there(board, agents, before)
            yield

    def _within(self, host: str, name: str) -> str:
        return os.path.join(self.path, host, name)

    def _prepare(self, host: str, role: str) -> None:
        try:
            for name in ("root", "state", "cache"):
                filesystem.makedirs(self._within(host, name), 0o700)
            tree = self._within(host, "tree")
            if not filesystem.lexists(tree):
                filesystem.makedirs(tree, 0o700)
                for sls in ("top", *HOSTS.values()):
                    text = (files("asyncstate.extras.fleet") / "demo_tree" / f"{sls}.sls").read_bytes()
                    filesystem.replace_content(os.path.join(tree, f"{sls}.sls"), text)
            settings = {
                "grains": {"role": role},
                "pillar": {"root": self._within(host, "root")},
                "file_roots": {"base": [tree]},
                "pillar_roots": {"base": []},
                "cachedir": self._within(host, "cache"),
                "state_dir": self._within(host, "state"),
            }
            # JSON is YAML, too.
            agent = msgspec.json.format(encoded(settings))
            filesystem.replace_content(self._within(host, "agent.yaml"), agent)
        except OSError as error:
            raise FleetError(f"{self.path} cannot be the folder of the demo: {error.strerror or error}") from error
        credentials.write(self._within(host, "agent.creds"), self.server.enrol(host))

    def _start(self, host: str) -> Service:
        command = [
            *(sys.executable, "-P", "-m", "asyncstate", "fleet", "agent"),
            *("--creds", self._within(host, "agent.creds"), "--nats", self.url),
            *("--config", self._within(host, "agent.yaml"), "--log-file", self._within(host, "agent.log")),
        ]
        # The variables of this program would override the configuration of a host.
        environ = {name: value for name, value in os.environ.items() if not name.startswith("ASYNCSTATE_")}
        return Service(command, environ=environ)

    async def _until_there(self, board: NatsBoard, agents: Mapping[str, Service], before: Mapping[str, bytes]) -> None:
        """Wait for a new sign of life of each agent. Raises FleetError."""
        missing = set(agents)
        ended: list[str] = []

        async def look() -> None:
            async for entry in board.watch(subjects.lease()):
                if entry.value != before.get(entry.key):
                    missing.discard(subjects.parts(entry.key)[1])
                if not missing:
                    break
            group.cancel_scope.cancel()

        async def end(host: str, agent: Service) -> None:
            await agent.ended()
            ended.append(host)
            group.cancel_scope.cancel()

        with anyio.move_on_after(_START):
            async with anyio.create_task_group() as group:
                group.start_soon(look)
                for host, agent in agents.items():
                    group.start_soon(end, host, agent)
        for host in [*ended, *sorted(missing)]:
            what = "ended at once" if ended else f"is not there after {_START:.0f} s"
            raise FleetError(f"the agent of {host} {what}. {self._last_words(host)}")

    def _last_words(self, host: str) -> str:
        path = self._within(host, "agent.log")
        try:
            lines = filesystem.read_bytes(path).decode(errors="replace").splitlines()[-_LAST_LINES:]
        except OSError:
            return f"It has no log at {path}."
        return f"Its last words in {path}: {' / '.join(lines)}"


async def _stop(agents: list[Service]) -> None:
    async with anyio.create_task_group() as group:
        for agent in agents:
            group.start_soon(agent.stop, _STOP)
