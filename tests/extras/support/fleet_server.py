"""A real server of a fleet, `asyncstate fleet up`, in a process of its own on a free port of this machine."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from asyncstate.extras.fleet.nats.board import NatsBoard
from asyncstate.extras.fleet.nats.folder import Folder
from asyncstate.extras.fleet.nats.server import reload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asyncstate.extras.fleet.credentials import Credentials

PATIENCE = 60.0
"""Seconds that a start or an end may take on a busy machine."""


class FleetServer:
    """``home`` is a folder of its own; what the server says of errors is in ``complaints`` when it has ended.

    ``prefix`` is a program that starts programs, in a network of their own for example.
    """

    def __init__(self, home: Path) -> None:
        self.folder = Folder(str(home / "D"))
        self.url = ""
        self.complaints = ""
        self.prefix: Sequence[str] = ()
        self._home = home
        self._process: subprocess.Popen[str] | None = None

    def start(self, *arguments: str) -> str:
        """Start it, on the port of the last time or a free one; return its first line, "ready URL"."""
        listen = () if Path(self.folder.path, "fleet.json").exists() else ("--listen", "127.0.0.1:0")
        program = [*self.prefix, sys.executable, "-m", "asyncstate"]
        command = [*program, "fleet", "up", "--dir", self.folder.path, *listen, *arguments]
        environ = {**os.environ, "HOME": str(self._home), "ASYNCSTATE_STATE_DIR": str(self._home / "state")}
        with open(self._home / "stderr", "w", encoding="utf-8") as stderr:
            self._process = subprocess.Popen(
                command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True
            )
        alarm = threading.Timer(PATIENCE, self._process.kill)
        alarm.start()
        line = self._process.stdout.readline().strip()
        alarm.cancel()
        self.url = line.removeprefix("ready ")
        return line

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it as a service manager does; return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(number)
        try:
            code = process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        self.complaints = (self._home / "stderr").read_text()
        return code

    async def restart(self) -> None:
        """Stop and start it while the loop runs."""
        await asyncio.to_thread(self.stop)
        await asyncio.to_thread(self.start)

    async def enrol(self, name: str) -> Credentials:
        """Enrol a host, as `fleet enroll` does."""
        made = await asyncio.to_thread(self.folder.enrol, name)
        await reload(self.folder)
        return made

    async def revoke(self, name: str) -> None:
        await asyncio.to_thread(self.folder.revoke, name)
        await reload(self.folder)

    def board(self, credentials: Credentials | None = None, *, url: str = "", give_up: float = PATIENCE) -> NatsBoard:
        """Return a party's board, not connected yet; without credentials, the operator's."""
        return NatsBoard(url or self.url, credentials or self.folder.operator(), give_up=give_up)
