"""One host's connection: ssh to its login shell, the loader, the runner. It uses asyncio, as asyncssh does."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from asyncstate.errors import FleetError
from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.ssh import frames, launch
from asyncstate.logs import get_logger
from asyncstate.model.encode import encoded

try:
    import asyncssh
except ImportError:
    raise FleetError("runs over ssh need asyncssh, which cannot be imported: pip install 'asyncssh>=2.18'") from None

if TYPE_CHECKING:
    from types import TracebackType

    from asyncstate.extras.fleet.ssh.bundle import Bundle
    from asyncstate.extras.fleet.ssh.operator_side import OperatorSide
    from asyncstate.extras.fleet.ssh.roster import RosterHost

log: logging.Logger = get_logger(__name__)

_KEEPALIVE: Final = 5
_MISSED: Final = 12
"""Unanswered keepalives after which a host is lost. An answer may wait for 2 MB in flight: 50 s at 40 kB/s."""
_PIECE: Final = 1 << 16
_LAST_WORDS: Final = 20
"""The number of last lines of a host's error stream that are kept for the reason of a failure."""
_GOODBYE: Final = 30.0
"""Seconds that a runner has to end and to remove its files."""
_HELLO: Final = 30.0
"""Seconds that a host's shell and its Python have for their first line."""


_USUAL: Final = ("~/.ssh/known_hosts", "/etc/ssh/ssh_known_hosts")
"""The files that ssh reads."""


class Ways(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of all connections of a run. ``known_hosts`` are files; none: ssh's defaults."""

    known_hosts: tuple[str, ...] = ()
    keep: str = ""


class _Client(asyncssh.SSHClient):
    """An ssh client that refuses unknown host keys, and remembers them for the message."""

    def __init__(self, ways: Ways, name: str, port: int) -> None:
        self._ways = ways
        self._name = name
        self._port = port
        self.refused = ""

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        """Refuse an unknown key, with a remedy."""
        del host, addr, port
        files = _files(self._ways)
        known = asyncssh.match_known_hosts(_known_hosts(self._ways), self._name, "", self._port)[0]
        print_ = f"{key.get_algorithm()} {key.get_fingerprint()}"
        asked = f"[{self._name}]:{self._port}" if self._port != 22 else self._name
        if known:
            kept = ", ".join(each.get_fingerprint() for each in known)
            self.refused = (
                f"its host key has changed: it shows {print_}, {' or '.join(files)} has {kept}. The connection "
                f"may be intercepted. If the host has got a new key, remove the old one: ssh-keygen -R '{asked}'"
            )
        else:
            place = files[0] if files else os.path.expanduser(_USUAL[0])
            missing = f"is not in {' or '.join(files)}" if files else "is not kept here, there are no known hosts yet"
            self.refused = (
                f"its host key is not known: {print_} {missing}. Compare the fingerprint with the "
                f"host's own (ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub there), then add the key, "
                f"for example with: ssh-keyscan -p {self._port} {self._name} >> {place}"
            )
        return False


def _expanded(command: str, host: RosterHost) -> str:
    """Return a ProxyCommand with %h, %n, %p and %r expanded as ssh does; asyncssh does not."""
    values = {"h": host.host, "n": host.host, "p": str(host.port), "r": host.user, "%": "%"}
    return re.sub(r"%(.)", lambda found: values.get(found[1], found[0]), command)


def _first(error: BaseException) -> BaseException:
    """Return one of the errors that the tasks of a group have raised."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _files(ways: Ways) -> list[str]:
    """Return the existing files of known hosts. Raises FleetError if a given one is missing."""
    for path in ways.known_hosts:
        if not os.path.isfile(path):
            raise FleetError(f"{path}, the file of known host keys, does not exist")
    usual = map(os.path.expanduser, _USUAL)
    return list(ways.known_hosts) or [path for path in usual if os.path.isfile(path)]


def _known_hosts(ways: Ways) -> asyncssh.SSHKnownHosts:
    """Return the known hosts, never none: asyncssh would then look elsewhere, or check no key at all."""
    files = _files(ways)
    try:
        return asyncssh.read_known_hosts(files) if files else asyncssh.import_known_hosts("")
    except (OSError, ValueError, asyncssh.Error) as error:
        raise FleetError(f"the known hosts in {' and '.join(files)} cannot be read: {error}") from None


class Connection:
    """A host with its runner, as ``async with``. Raises FleetError with the reason if the host cannot be used.

    ``begin`` is the first frame for the runner.
    """

    def __init__(self, host: RosterHost, ways: Ways, bundle: Bundle, begin: frames.Begin) -> None:
        self._host = host
        self._ways = ways
        self._bundle = bundle
        self._begin = begin
        self._stack = AsyncExitStack()
        self._process: Any = None
        self._said: list[str] = []
        self._over = False

    async def __aenter__(self) -> Self:
        """Connect, and start the runner."""
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the runner end and remove its files, then disconnect."""
        self._over = True
        try:
            with suppress(OSError, asyncssh.Error, asyncio.TimeoutError):
                self._process.stdin.write(frames.encode(0, frames.BYE))
                self._process.stdin.write_eof()
                await asyncio.wait_for(self._process.wait_closed(), _GOODBYE)
        finally:
            await self._stack.aclose()

    async def serve(self, side: OperatorSide) -> None:
        """Answer the runner's requests until it or the connection ends. Raises BoardError with the reason."""
        broken: list[BaseException] = []
        try:
            await side.serve(self._process.stdout, self._process.stdin)
        except* (OSError, asyncssh.Error, BoardError) as errors:
            broken.append(_first(errors))
        if broken and isinstance(broken[0], BoardError):
            raise broken[0]
        if broken:
            raise BoardError(self._why(f"the connection broke: {broken[0]}"))
        with suppress(asyncio.TimeoutError, OSError, asyncssh.Error):
            await asyncio.wait_for(self._process.wait_closed(), 1.0)
        raise BoardError(self._why("the runner ended"))

    def _why(self, what: str) -> str:
        said = "\n".join(map(launch.shortened, self._said[-_LAST_WORDS:]))
        return f"{what}: {said}" if said else what

    async def _start(self) -> None:
        host = self._host
        try:
            async with asyncio.timeout(host.timeout):
                connection = await self._connected()
        except TimeoutError:
            raise FleetError(f"no connection within {host.timeout:g} s (timeout of the roster)") from None
        try:
            async with asyncio.timeout(_HELLO + host.timeout) as limit:
                await self._launch(connection, limit)
        except TimeoutError:
            raise FleetError(self._why("its shell and its Python did not answer")) from None
        except msgspec.MsgspecError as error:
            raise FleetError(f"its first output is not from the loader: {error}") from None
        except (OSError, asyncssh.Error, EOFError) as error:
            raise FleetError(self._why(f"the runner cannot be started: {error}")) from None

    async def _connected(self) -> asyncssh.SSHClientConnection:
        tunnel: asyncssh.SSHClientConnection | None = None
        for user, name, port in self._host.options.jumps:
            tunnel = await self._connect(f"jump host {name}", name, port, user or self._host.user, tunnel, jump=True)
        return await self._connect("", self._host.host, self._host.port, self._host.user, tunnel, jump=False)

    async def _connect(
        self,
        what: str,
        name: str,
        port: int,
        user: str,
        tunnel: asyncssh.SSHClientConnection | None,
        *,
        jump: bool,
    ) -> asyncssh.SSHClientConnection:
        client = _Client(self._ways, name, port)
        prefix = f"{what}: " if what else ""
        options = self._options(jump=jump)
        try:
            connection = await asyncssh.connect(
                name,
                port,
                tunnel=tunnel,
                username=user,
                known_hosts=_known_hosts(self._ways),
                client_factory=lambda: client,
                keepalive_interval=_KEEPALIVE,
                keepalive_count_max=_MISSED,
                **options,
            )
        except asyncssh.HostKeyNotVerifiable as error:
            raise FleetError(prefix + (client.refused or f"its host key cannot be verified: {error}")) from None
        except asyncssh.PermissionDenied as error:
            raise FleetError(
                f"{prefix}{user}@{name} is not let in: {error.reason}. Give a key with priv or a password with passwd "
                "in the roster, or add the key to the ssh agent."
            ) from None
        except (OSError, ValueError, asyncssh.Error) as error:
            raise FleetError(f"{prefix}no connection to {name}, port {port}: {error}") from None
        return await self._stack.enter_async_context(connection)

    def _options(self, *, jump: bool) -> dict[str, Any]:
        """Return asyncssh's options of authentication. The password is for the host itself, not for jump hosts."""
        host, options = self._host, self._host.options
        keys = [*([host.priv] if host.priv else []), *options.identity_files]
        told: dict[str, Any] = {"agent_forwarding": host.forward_agent and not jump}
        if keys:
            told["client_keys"] = keys
        if host.priv_passwd:
            told["passphrase"] = host.priv_passwd
        if options.identities_only or (keys and not host.forward_agent):
            told["agent_path"] = None
        if not jump:
            if host.passwd:
                told["password"] = host.passwd
            if options.proxy_command:
                told["proxy_command"] = _expanded(options.proxy_command, host)
            if options.host_key_alias:
                told["host_key_alias"] = options.host_key_alias
        return told

    async def _launch(self, connection: asyncssh.SSHClientConnection, limit: asyncio.Timeout) -> None:
        host = self._host
        line = launch.command(
            sudo=host.sudo, sudo_user=host.sudo_user, password=bool(host.passwd), set_path=host.set_path
        )
        self._process = process = await connection.create_process(line, encoding=None)
        self._stack.callback(process.close)
        listening = asyncio.ensure_future(self._listen(process))
        self._stack.callback(listening.cancel)
        await self._line(launch.READY)
        mark = f"asyncstate-{os.urandom(12).hex()}"
        wanted = launch.Wanted(
            digest=self._bundle.digest, mark=mark, thin_dir=host.thin_dir, keep=self._ways.keep, umask=host.umask
        )
        process.stdin.write(encoded(wanted) + b"\n")
        hello = msgspec.json.decode(await self._line(mark), type=launch.Hello)
        launch.require_fitting(hello)
        size = 0 if hello.have else len(self._bundle.content)
        process.stdin.write(b"%d\n" % size)
        with suppress(BrokenPipeError):  # the loader has ended: its last line says why
            for start in range(0, size, _PIECE):  # a slow link may take its time, one that stands still may not
                process.stdin.write(self._bundle.content[start : start + _PIECE])
                await process.stdin.drain()
                limit.reschedule(asyncio.get_running_loop().time() + _HELLO + host.timeout)
        started = msgspec.json.decode(await self._line(mark), type=launch.Hello)
        launch.require_started(started)
        process.stdin.write(frames.encode(0, frames.BEGIN, self._begin))
        await process.stdin.drain()

    async def _line(self, mark: str) -> bytes:
        """Return the rest of the first line that begins with a mark; shells may print lines before it."""
        seen = 0
        while seen <= launch.LONGEST_WORDS:
            line = await self._process.stdout.readline()
            seen += len(line)
            if line.startswith(mark.encode()):
                return bytes(line[len(mark) :])
            if not line.endswith(b"\n"):
                break
        with suppress(TimeoutError, OSError, asyncssh.Error):
            async with asyncio.timeout(1.0):
                await self._process.wait_closed()
        raise FleetError(self._why(launch.hint_of(self._said, sudo=self._host.sudo, password=bool(self._host.passwd))))

    async def _listen(self, process: Any) -> None:
        """Read the host's error stream: its log, its last lines, and sudo's prompt."""
        asked = 0
        text = b""
        while data := await process.stderr.read(4096):
            text += data
            while launch.SUDO_PROMPT.encode() in text:
                text = text.replace(launch.SUDO_PROMPT.encode(), b"", 1)
                asked += 1
                if asked > 1:
                    self._said.append("sudo refuses the password (passwd of the roster)")
                    process.close()
                    return
                process.stdin.write((self._host.passwd or "").encode() + b"\n")
            *lines, text = text[-launch.LONGEST_WORDS :].split(b"\n")
            for line in lines:
                self._say(line)
        self._say(text)

    def _say(self, line: bytes) -> None:
        said = line.decode("utf-8", "replace").rstrip()
        if said:
            self._said = [*self._said[-_LAST_WORDS:], said]
            log.log(logging.INFO if self._over else logging.WARNING, "%s: %s", self._host.id, launch.shortened(said))
