"""The folder of a fleet's server: its keys, its hosts, and the server's files.

    fleet.json        the address, the names of the server, the hosts with their public keys
    operator.creds    the operator's credentials: its two private keys
    control.creds     the key for asking the server whether it has reloaded its configuration
    authority.pem, authority.key, server.pem, server.key      certificates, and their private keys
    accounts.conf     access rights: an existing cluster of NATS needs them, too
    server.conf       the configuration of the server
    jetstream/        the streams
    server.log, server.pid, server.lock, folder.lock

Only its owner can read the folder. Private keys of hosts are in their credentials only, which `Folder.enrol` returns.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import msgspec

from asyncstate import filesystem, residue
from asyncstate.errors import FleetError
from asyncstate.extras.fleet import credentials, nkeys
from asyncstate.extras.fleet.nats import access, certificates
from asyncstate.model.encode import encoded
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from asyncstate.extras.fleet.credentials import Credentials

DEFAULT_ADDRESS: Final = "127.0.0.1:4222"
LARGEST_MESSAGE: Final = 8 << 20
"""The largest message in bytes, the maximum that NATS recommends."""
_LOG_SIZE: Final = 16 << 20
_OPERATOR_NAME: Final = "operator"
_CONTROL_NAME: Final = "control"
_LOCK_PATIENCE: Final = 30.0
_LOCK_POLL: Final = 0.05


class Host(msgspec.Struct, frozen=True):
    """A host of the fleet: its public key, and when it was enrolled, in seconds since 1970."""

    key: str
    since: float


class Settings(msgspec.Struct, frozen=True):
    """The content of ``fleet.json``. ``names`` are the server's names for hosts, besides its address.

    ``replicas``, ``largest``, ``kept_days`` and ``limits`` go into the operator's credentials.

    ``version`` is the last version of the server: older ones do not know all settings.
    """

    address: str = DEFAULT_ADDRESS
    names: tuple[str, ...] = ()
    replicas: int = 1
    largest: int = 4 << 30
    kept_days: float = 7.0
    limits: dict[str, int] = {}
    hosts: dict[str, Host] = {}
    version: tuple[int, int, int] = (0, 0, 0)


class Folder:
    """The folder at ``path``. A lock serialises changes to it."""

    def __init__(self, path: str) -> None:
        self.path: str = os.path.abspath(path)

    def within(self, name: str) -> str:
        """Return the path of something in the folder."""
        return os.path.join(self.path, name)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Lock the folder against changes by other processes. Raises FleetError if one holds the lock for long."""
        until = time.monotonic() + _LOCK_PATIENCE
        while (lock := residue.take_lock(self.within("folder.lock"))) is None:
            if time.monotonic() >= until:
                raise FleetError(f"another process has been changing {self.path} for {_LOCK_PATIENCE:.0f} seconds")
            time.sleep(_LOCK_POLL)
        try:
            yield
        finally:
            os.close(lock)

    def prepare(
        self,
        address: str | None,
        names: tuple[str, ...],
        replicas: int | None,
        version: tuple[int, int, int] | None = None,
        *,
        largest: int | None = None,
        kept_days: float | None = None,
        limits: dict[str, int] | None = None,
    ) -> Settings:
        """Make missing files of the folder, and write the configuration. None keeps a setting as it is.

        ``limits`` change the limits of single streams; 0 removes one. Raises FleetError.
        """
        self._make()
        with self.changing():
            kept = self._settings() or Settings()
            settings = msgspec.structs.replace(
                kept,
                address=address or kept.address,
                names=names or kept.names,
                replicas=replicas or kept.replicas,
                largest=largest or kept.largest,
                kept_days=kept_days or kept.kept_days,
                limits={name: size for name, size in (kept.limits | (limits or {})).items() if size},
                version=version or kept.version,
            )
            access.limits_of(settings.largest, settings.limits)
            self._ensure_certificates(settings)
            self._ensure_operator(settings)
            self._write_all(settings)
        return settings

    def renew(self) -> bool:
        """Renew the server's certificate if it expires within a year; return whether it did.

        A running server uses it once it has reloaded its configuration. Raises FleetError.
        """
        with self.changing():
            before = self._pair("server")
            self._ensure_certificates(self.settings())
            return self._pair("server") != before

    def enrol(self, name: str) -> Credentials:
        """Give a host a new key: its former one is no longer valid. Returns the host's credentials.

        The server has to reload its configuration.
        """
        return self.enrol_all([name])[0]

    def enrol_all(self, names: Sequence[str]) -> list[Credentials]:
        """Give several hosts new keys, in one change of the folder. Returns their credentials."""
        for name in names:
            if not name or name != name.strip() or not name.isprintable():
                raise FleetError(f"{name!r} cannot be the name of a host")
        self.settings()  # before the lock, which would make the folder
        with self.changing():
            settings, operator, since = self.settings(), self.operator(), time.time()
            keys = {name: nkeys.KeyPair.new(nkeys.USER) for name in names}
            hosts = {**settings.hosts, **{name: Host(key.public, since) for name, key in keys.items()}}
            self._write_all(msgspec.structs.replace(settings, hosts=hosts))
        return [
            credentials.Credentials(
                name=name,
                role=credentials.HOST,
                seed=key.seed,
                authority=operator.authority,
                operators=operator.operators,
                since=since,
            )
            for name, key in keys.items()
        ]

    def revoke(self, name: str) -> None:
        """Take the key from a host. Raises FleetError for a host that is not enrolled."""
        self.settings()  # before the lock, which would make the folder
        with self.changing():
            settings = self.settings()
            if name not in settings.hosts:
                near = nearest(name, list(settings.hosts))
                raise FleetError(f"{name} is not enrolled in {self.path}" + (f". Did you mean {near}?" if near else ""))
            hosts = {each: host for each, host in settings.hosts.items() if each != name}
            self._write_all(msgspec.structs.replace(settings, hosts=hosts))

    def settings(self) -> Settings:
        """Return the settings. Raises FleetError if this is no folder of a fleet."""
        found = self._settings()
        if found is None:
            raise FleetError(
                f"{self.path} is not the folder of a fleet's server: `asyncstate fleet up --dir` makes one"
            )
        return found

    def operator(self) -> Credentials:
        """Return the operator's credentials. Raises FleetError."""
        return credentials.read(self.within("operator.creds"))

    def control(self) -> Credentials:
        """Return the credentials for requests about the server itself. Raises FleetError."""
        return credentials.read(self.within("control.creds"))

    def accounts_text(self) -> str:
        """Return the part of the configuration with the access rights."""
        settings = self.settings()
        described = access.accounts(
            self.operator().key.public,
            self.control().key.public,
            {name: host.key for name, host in settings.hosts.items()},
        )
        return (
            f'system_account: "{access.CONTROL_ACCOUNT}"\n'
            f"accounts: {json.dumps(described, indent=1, ensure_ascii=False)}\n"
        )

    def server_url(self) -> str:
        """Return the URL of the server on this machine."""
        host, port = split_address(self.settings().address)
        return f"tls://{joined_address(_reachable(host), port)}"

    def _make(self) -> None:
        try:
            os.makedirs(self.path, mode=0o700, exist_ok=True)
            found = os.stat(self.path)
        except OSError as error:
            raise FleetError(f"{self.path} cannot be the server's folder: {error.strerror or error}") from error
        if user := filesystem.who_can_change(self.path):
            raise FleetError(f"Refusing to keep the keys of a fleet in {self.path}: {user} can change it")
        if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            if self._settings() is None and os.listdir(self.path):
                raise FleetError(
                    f"{self.path} is a folder of something else, and others can read it: name an empty or a new one"
                )
            os.chmod(self.path, 0o700)

    def _settings(self) -> Settings | None:
        path = self.within("fleet.json")
        try:
            return msgspec.json.decode(filesystem.read_bytes(path), type=Settings)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise FleetError(f"{path} cannot be read: {error.strerror or error}") from error
        except (ValueError, msgspec.MsgspecError) as error:
            raise FleetError(f"{path} is damaged: {error}") from error

    def _ensure_certificates(self, settings: Settings) -> None:
        authority = self._pair("authority")
        if authority is None:
            if os.path.lexists(self.within("authority.pem")):
                raise FleetError(
                    f"{self.within('authority.key')} is missing: all hosts trust its certificate, authority.pem beside "
                    "it. Put the key back, or begin with a new folder and enrol all hosts there"
                )
            authority = self._keep("authority", certificates.new_authority())
        server, names = self._pair("server"), _called(settings)
        if server is None or not certificates.still_good(server.certificate, names, datetime.now(UTC)):
            self._keep("server", certificates.new_server(authority, names))

    def _ensure_operator(self, settings: Settings) -> None:
        authority = filesystem.read_bytes(self.within("authority.pem")).decode()
        path = self.within("operator.creds")
        if not os.path.exists(path):
            signs = nkeys.KeyPair.new(nkeys.OPERATOR)
            credentials.write(
                path,
                credentials.Credentials(
                    name=_OPERATOR_NAME,
                    role=credentials.OPERATOR,
                    seed=nkeys.KeyPair.new(nkeys.USER).seed,
                    authority=authority,
                    operators=(signs.public,),
                    since=time.time(),
                    signs=signs.seed,
                ),
            )
        operator = credentials.read(path)
        told = msgspec.structs.replace(
            operator,
            replicas=settings.replicas,
            largest=settings.largest,
            kept_days=settings.kept_days,
            limits=settings.limits,
        )
        if operator != told:
            credentials.write(path, told)
        path = self.within("control.creds")
        if not os.path.exists(path):
            control = credentials.Credentials(
                name=_CONTROL_NAME,
                role=credentials.HOST,
                seed=nkeys.KeyPair.new(nkeys.USER).seed,
                authority=authority,
                operators=operator.operators,
                since=time.time(),
            )
            credentials.write(path, control)

    def _write_all(self, settings: Settings) -> None:
        """Write the settings, and the server's configuration."""
        self._write("fleet.json", msgspec.json.format(encoded(settings), indent=2) + b"\n")
        self._write("accounts.conf", self.accounts_text().encode())
        self._write("server.conf", self._server_text(settings).encode())

    def _server_text(self, settings: Settings) -> str:
        host, port = split_address(settings.address)
        parts = {
            "server_name": f"asyncstate-{socket.gethostname()}",
            "host": host,
            "port": port,
            "max_payload": LARGEST_MESSAGE,
            "pid_file": self.within("server.pid"),
            "log_file": self.within("server.log"),
            "logfile_size_limit": _LOG_SIZE,
            "jetstream": {"store_dir": self.within("jetstream"), **_synced(settings.version)},
            "tls": {"cert_file": self.within("server.pem"), "key_file": self.within("server.key"), "timeout": 5},
        }
        lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in parts.items()]
        return "\n".join(["# Written by asyncstate fleet; changes are lost.", 'include "accounts.conf"', *lines, ""])

    def _pair(self, name: str) -> certificates.Issued | None:
        try:
            return certificates.Issued(
                filesystem.read_bytes(self.within(f"{name}.pem")), filesystem.read_bytes(self.within(f"{name}.key"))
            )
        except FileNotFoundError:
            return None

    def _keep(self, name: str, issued: certificates.Issued) -> certificates.Issued:
        self._write(f"{name}.key", issued.key)
        self._write(f"{name}.pem", issued.certificate)
        return issued

    def _write(self, name: str, content: bytes) -> None:
        try:
            with filesystem.Replacement(self.within(name), 0o600, is_temporary=False) as new:
                new.write(content)
                new.commit(sync=True)
        except OSError as error:
            raise FleetError(f"{self.within(name)} cannot be written: {error.strerror or error}") from error


def split_address(address: str) -> tuple[str, int]:
    """Return host and port of ``ADDR:PORT``; without a port, NATS's own. Raises FleetError."""
    host, colon, port = address.rpartition(":")
    if not colon or address.endswith("]"):
        host, port = address, "4222"
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535 or any(map(str.isspace, host)):
        raise FleetError(f"{address!r} is not ADDR:PORT, for example 0.0.0.0:4222 or [::]:4222")
    return host, int(port)


def joined_address(host: str, port: int) -> str:
    """Return ``ADDR:PORT``."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def with_free_port(address: str) -> str:
    """Return the address with a free port in place of 0. Raises FleetError, OSError."""
    host, port = split_address(address)
    if port == 0:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.bind((host, 0))
            port = trial.getsockname()[1]
    return joined_address(host, port)


def _synced(version: tuple[int, int, int]) -> dict[str, str]:
    """Return the setting for the server's file syncs: 2.9 syncs every two minutes and has no such setting."""
    return {"sync_interval": "1s"} if version >= (2, 10, 0) else {}


def _called(settings: Settings) -> list[str]:
    """Return the names and addresses for the server's certificate."""
    own = socket.gethostname()
    names = [*settings.names, split_address(settings.address)[0], own, "localhost", "127.0.0.1", "::1"]
    return list(dict.fromkeys(name for name in names if name not in {"0.0.0.0", "::"}))  # noqa: S104 - not bound here


def _reachable(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - as above
