"""An ssh server in this process, with asyncssh: a host, or a jump host, with its own keys and a folder for its user."""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path

import asyncssh

from asyncstate.extras.fleet.ssh.roster import RosterHost
from asyncstate.extras.fleet.ssh.ssh_options import SshOptions


class _Server(asyncssh.SSHServer):
    def __init__(self, host):
        self._host = host

    def connection_made(self, conn):
        self._host.connections.append(conn)

    def begin_auth(self, username):
        return True

    def password_auth_supported(self):
        return bool(self._host.password)

    def validate_password(self, username, password):
        return password == self._host.password

    def connection_requested(self, dest_host, dest_port, orig_host, orig_port):
        self._host.passed_on.append((dest_host, dest_port))
        return True


async def _copy(reader, writer):
    with suppress(OSError, asyncssh.Error):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()


async def _feed(reader, writer):
    """Copy, then end the program's input: it has none once its connection is gone."""
    await _copy(reader, writer)
    with suppress(OSError):
        writer.close()


class SshHost:
    """``path`` is the PATH of its programs.

    Without one, it has those of the folder ``first``, the Python that runs the tests, by its own name, and those of
    this machine. What its user runs has the folder ``tmp`` for temporary files.
    """

    def __init__(self, folder, client_key, *, path="", first="", password=""):
        self.folder = folder
        self.tmp = folder / "tmp"
        self.tmp.mkdir(parents=True)
        self.lock_dir = folder / "cache"
        self.path = path or f"{first}:{self._own_python()}:/usr/local/bin:/usr/bin:/bin".lstrip(":")
        self.password = password
        self.key = asyncssh.generate_private_key("ssh-ed25519")
        self.connections = []
        self.passed_on = []
        self.programs = []
        self._client_key = client_key
        self._server = None
        self.port = 0

    def _own_python(self):
        """Make a folder with this Python, without the environment of the tests: a bundle fits one of its kind alone."""
        programs = self.folder / "bin"
        programs.mkdir()
        name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        (programs / name).symlink_to(Path(sys.executable).resolve())
        return programs

    async def start(self, key=None):
        self._server = await asyncssh.create_server(
            lambda: _Server(self),
            "127.0.0.1",
            self.port,
            server_host_keys=[key or self.key],
            authorized_client_keys=None if self.password else f"{self._client_key}.pub",
            process_factory=self._run,
            encoding=None,
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def _run(self, process):
        environ = {"PATH": self.path, "HOME": str(self.folder), "TMPDIR": str(self.tmp), "LC_ALL": "C.UTF-8"}
        environ["ASYNCSTATE_CACHEDIR"] = str(self.lock_dir)
        program = await asyncio.create_subprocess_shell(
            f"exec {process.command}", env=environ, stdin=-1, stdout=-1, stderr=-1, start_new_session=True
        )
        self.programs.append(program)
        feeding = asyncio.ensure_future(_feed(process.stdin, program.stdin))
        out = (_copy(program.stdout, process.stdout), _copy(program.stderr, process.stderr))
        await asyncio.gather(*out)
        feeding.cancel()
        with suppress(asyncio.CancelledError):
            await feeding
        code = await program.wait()
        if not process.is_closing():
            process.exit(code)

    def known_hosts_line(self, key=None):
        return f"[127.0.0.1]:{self.port} {(key or self.key).export_public_key().decode()}"

    def entry(self, id_, **fields):
        return RosterHost(
            id=id_, host="127.0.0.1", port=self.port, user="tester",
            priv="" if self.password else str(self._client_key), passwd=self.password, **fields,
        )  # fmt: skip

    @property
    def left(self):
        """What runners have left behind."""
        return sorted(os.listdir(self.tmp))

    def runners(self):
        """The process ids of the runners, each a child of what the server of ssh has started."""
        return [
            int(pid)
            for program in self.programs
            if program.returncode is None
            for pid in Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
        ]

    def cut(self):
        """Break all connections, as a network that is gone does."""
        for each in self.connections:
            each.abort()

    async def stop(self):
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        for each in self.connections:
            each.close()
            await each.wait_closed()
        for each in self.programs:
            await asyncio.wait_for(each.wait(), 60)


def jump_over(*hosts):
    return SshOptions(jumps=tuple(("tester", "127.0.0.1", each.port) for each in hosts))


def write_known_hosts(path, *hosts):
    Path(path).write_text("".join(f"{each.known_hosts_line().strip()}\n" for each in hosts))
    return str(path)
