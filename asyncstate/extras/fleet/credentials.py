"""Credentials: everything that a host or an operator needs besides the server's address, in one private file."""

from __future__ import annotations

import os
import stat
from typing import Final

import msgspec

from asyncstate import filesystem
from asyncstate.errors import FleetError
from asyncstate.extras.fleet import nkeys
from asyncstate.model.encode import encoded

FORMAT: Final = 1
"""The version of the file."""
HOST: Final = "host"
OPERATOR: Final = "operator"

_LARGEST: Final = 1 << 20


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a credentials file, a JSON object.

    ``name`` names the host or the operator's key, and ``role`` is `HOST` or `OPERATOR`. ``seed`` is the key
    that connects, ``authority`` the certificate in PEM that the server's must be signed by, ``operators`` the public
    keys that a host obeys, ``since`` the time of enrolment in seconds since 1970. An operator's file has its private
    key for signatures, ``signs``, and the server's limits: ``replicas`` of each message, ``largest`` bytes in all, runs
    for ``kept_days``, and ``limits`` in bytes of single streams, by name.
    """

    name: str
    role: str
    seed: str
    authority: str
    operators: tuple[str, ...]
    since: float
    signs: str = ""
    replicas: int = 1
    largest: int = 4 << 30
    kept_days: float = 7.0
    limits: dict[str, int] = {}
    asyncstate_fleet: int = FORMAT

    def __repr__(self) -> str:
        return f"Credentials(name={self.name!r}, role={self.role!r})"

    @property
    def key(self) -> nkeys.KeyPair:
        """The key that connects."""
        return nkeys.KeyPair.from_seed(self.seed)


def write(path: str, credentials: Credentials) -> None:
    """Write a file that only its owner can read, at once or not at all. Raises FleetError."""
    try:
        with filesystem.Replacement(os.path.abspath(path), 0o600, is_temporary=False) as new:
            new.write(msgspec.json.format(encoded(credentials), indent=2) + b"\n")
            new.commit(sync=True)
    except OSError as error:
        raise FleetError(f"the credentials cannot be written to {path}: {error.strerror or error}") from error


def require_writable(path: str, name: str) -> None:
    """Raise FleetError if `write` could not, or should not, write the credentials of a host there.

    For a check before the host's former credentials are revoked. Credentials of another name are not replaced: an
    operator's exist only once.
    """
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK) or os.path.isdir(path):
        raise FleetError(f"the credentials cannot be written to {path}: name a file in a folder that can be written to")
    if not os.path.exists(path):
        return
    try:
        found = read(path)
    except FleetError:  # missing or unusable
        return
    if (found.role, found.name) != (HOST, name):
        whose = f"host {found.name}" if found.role == HOST else "an operator"
        raise FleetError(f"{path} has the credentials of {whose} already: name another file, or remove it")


def read(path: str) -> Credentials:
    """Return the credentials in a file. Raises FleetError for a file that others can read, too, and any other file."""
    try:
        with filesystem.open_read(os.path.abspath(path)) as file:
            if os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise FleetError(f"{path} holds a private key, and others than its owner can use it: chmod 600 {path}")
            text = file.read(_LARGEST)
    except OSError as error:
        raise FleetError(
            f"the credentials {path} cannot be read: {error.strerror or error}. `asyncstate fleet enroll` makes the "
            "file of a host, `asyncstate fleet up` operator.creds."
        ) from error
    return decoded(text, path)


def decoded(text: bytes, path: str) -> Credentials:
    """Return the credentials of the text of a file. Raises FleetError, which shows nothing of the text."""
    try:
        found = msgspec.json.decode(text, type=Credentials)
        roles = [nkeys.KeyPair.from_seed(seed).role for seed in (found.seed, found.signs) if seed]
    except (ValueError, msgspec.MsgspecError):
        raise FleetError(
            f"{path} is not a credentials file of asyncstate: `asyncstate fleet enroll` makes the file of a host, "
            "`asyncstate fleet up` operator.creds."
        ) from None
    if found.asyncstate_fleet != FORMAT:
        raise FleetError(
            f"{path} was made by a later asyncstate (version {found.asyncstate_fleet} of the file, {FORMAT} is known)"
        )
    wanted = {HOST: [nkeys.USER], OPERATOR: [nkeys.USER, nkeys.OPERATOR]}.get(found.role)
    if roles != wanted:
        raise FleetError(f"{path} is damaged: its keys do not fit the role {found.role!r}")
    return found
