"""Hosts that are reached over ssh, on loopback: servers of ssh in this process, runners in processes of their own."""

import asyncio
import os

import anyio
import asyncssh
import pytest
from ssh_server import SshHost, write_known_hosts

from asyncstate.config import Settings
from asyncstate.extras.fleet.controller.controller import Controller, Request
from asyncstate.extras.fleet.controller.event_stream import Observer
from asyncstate.extras.fleet.protocol import Options
from asyncstate.extras.fleet.ssh import bundle
from asyncstate.extras.fleet.ssh.connection import Ways
from asyncstate.extras.fleet.ssh.session import Session, Unsigned
from asyncstate.report.recorded import RecordedReport


@pytest.fixture(scope="session")
def cachedir(tmp_path_factory):
    """A cache directory that has the bundle."""
    folder = str(tmp_path_factory.mktemp("ssh-cache"))
    anyio.run(bundle.made, folder)
    return folder


NO_OPTIONS = Options()


class Gathered(Observer):
    def __init__(self):
        self.reports = {}
        self.ends = {}

    def begun(self, host, attempt):
        self.reports[host] = RecordedReport()

    def event(self, host, event):
        self.reports[host].on_event(event)

    def ended(self, host, end):
        self.ends[host] = end.why

    def comments(self):
        return {
            host: {row["__id__"]: row["comment"] for row in recorded.report().rows.values()}
            for host, recorded in self.reports.items()
        }


class Place:
    """An operator with a tree, and hosts."""

    def __init__(self, folder, cachedir):
        self.folder = folder
        self.cachedir = cachedir
        self.tree, self.pillar = folder / "tree", folder / "pillar"
        self.tree.mkdir()
        self.pillar.mkdir()
        self.client_key = folder / "id"
        key = asyncssh.generate_private_key("ssh-ed25519")
        key.write_private_key(self.client_key)
        key.write_public_key(f"{self.client_key}.pub")
        self.hosts = {}
        self.roster = []
        self.said = []
        self.gathered = Gathered()
        self.known = str(folder / "known_hosts")

    async def host(self, name, server=None, **fields):
        """Add a host to the roster."""
        server = server or {}
        found = self.hosts[name] = await SshHost(self.folder / name, self.client_key, **server).start()
        self.roster.append(found.entry(name, **fields))
        write_known_hosts(self.known, *self.hosts.values())
        return found

    def write(self, path, text):
        full = self.folder / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text)

    def settings(self, **options):
        roots = {"file_roots": {"base": [str(self.tree)]}, "pillar_roots": {"base": [str(self.pillar)]}}
        return Settings(cachedir=self.cachedir, state_dir=str(self.folder / "state"), **roots, **options)

    def session(self, target="*", keep="", **more):
        ways = Ways(known_hosts=(self.known,), keep=keep)
        return Session(self.roster, self.settings(**more), target, ways, say=self.said.append, lease=0.5)

    async def apply(self, *sls, target="*", options=NO_OPTIONS, request=None, **more):
        """Do a run; return the session, which is over, and how the run ended. ``request`` are further fields of it."""
        async with self.session(target, **more) as session:
            end = await self.drive(session, *sls, options=options, **(request or {})) if session.hosts else None
        await self.wait_for_programs()
        return session, end

    async def drive(self, session, *sls, options=NO_OPTIONS, **more):
        target = f"L@{','.join(session.hosts)}"
        request = Request(target=target, sls=sls, options=options, deadline=60.0, **more)
        return await Controller(session.board, Unsigned(), os.urandom(4).hex(), request, self.gathered).drive()

    async def wait_for(self, there):
        """Wait until something is so."""
        async with asyncio.timeout(60):
            while not there():  # noqa: ASYNC110 - another process makes it so
                await asyncio.sleep(0.05)

    async def wait_for_programs(self):
        """Wait until what was started on the hosts has ended."""
        for host in self.hosts.values():
            for program in host.programs:
                await asyncio.wait_for(program.wait(), 60)

    async def close(self):
        for each in self.hosts.values():
            await each.stop()


@pytest.fixture
async def place(tmp_path, cachedir):
    made = Place(tmp_path, cachedir)
    yield made
    await made.close()
