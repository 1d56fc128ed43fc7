"""A cluster of three NATS servers on this machine, as an operator with existing NATS has it."""

import asyncio
import json
import os
import subprocess
from contextlib import suppress

from fleet_server import PATIENCE

from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.nats import server
from asyncstate.extras.fleet.nats.board import NatsBoard
from asyncstate.extras.fleet.nats.folder import Folder


class Cluster:
    """Three servers of NATS that were not started by us, with what `fleet up --print-config` asks for."""

    def __init__(self, home, ports):
        self.folder = Folder(str(home / "D"))
        self.folder.prepare("127.0.0.1:4222", (), 3)
        self._home = home
        self._ports = ports
        self._servers = {}

    @property
    def url(self):
        return ",".join(f"tls://127.0.0.1:{port}" for port in self._ports[:3])

    def start(self, number):
        home = self._home / f"server{number}"
        home.mkdir(exist_ok=True)
        within = self.folder.within
        routes = ", ".join(f"nats://127.0.0.1:{port}" for port in self._ports[3:])
        (home / "server.conf").write_text(
            f"server_name: n{number}\nlisten: 127.0.0.1:{self._ports[number]}\nmax_payload: 8388608\n"
            f'jetstream: {{store_dir: "{home}/js"}}\n'
            f'tls: {{cert_file: "{within("server.pem")}", key_file: "{within("server.key")}"}}\n'
            f"cluster: {{name: c, listen: 127.0.0.1:{self._ports[3 + number]}, routes: [{routes}]}}\n"
            f'include "{os.path.relpath(within("accounts.conf"), home)}"\n'
        )
        command = [server.find_program().path, "-c", str(home / "server.conf"), "-l", str(home / "log")]
        self._servers[number] = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def end(self, number):
        self._servers[number].kill()
        self._servers.pop(number).wait()

    def end_all(self):
        for number in list(self._servers):
            self.end(number)

    def board(self, credentials=None):
        return NatsBoard(self.url, credentials or self.folder.operator(), give_up=PATIENCE)

    async def until_whole(self):
        """Wait until all three servers have all of the stream."""
        async with asyncio.timeout(2 * PATIENCE), self.board() as operator:
            while True:
                with suppress(BoardError):
                    found = json.loads((await operator._connection.request("stream.info.control", b"")).data)
                    replicas = found.get("cluster", {}).get("replicas", [])
                    if len(replicas) == 2 and all(each.get("current") and not each.get("offline") for each in replicas):
                        return
                await asyncio.sleep(0.2)
