"""The key of the digests in plan records.

A record reveals only whether a secret has changed. With a plain digest, any reader of the record could try all
likely secrets; so the digests are keyed with random bytes that stay on this machine, in ``state_dir``, private.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from typing import Final

import msgspec

from asyncstate import filesystem
from asyncstate.errors import AsyncStateError, PlanError
from asyncstate.filesystem import Replacement
from asyncstate.model.encode import CUT, DEEPEST, SORTED, encoded, plain

_NAME: Final = "plan.key"
_BYTES: Final = 32
_DIGEST_BYTES: Final = 16
_REMOVE: Final = "Remove the file: the next plan makes a new key, and plans made before can no longer be applied"
MARK: Final = b"!"
"""The prefix of the bytes of a value that has no form in JSON."""


class Key:
    """Makes digests against which a guess can only be checked with the key. Equal values have equal digests."""

    __slots__ = ("_hash", "name")

    def __init__(self, secret: bytes) -> None:
        self._hash = blake2b(key=secret, digest_size=_DIGEST_BYTES)
        self.name: str = self.bytes(b"the name of the key")
        """Names the key: digests of two keys cannot be compared."""

    @classmethod
    def of(cls, state_dir: str, *, make: bool = True) -> Key:
        """Return the key of ``state_dir``, made if missing.

        Raises PlanError if it cannot be read or made. Without ``make`` a key that is missing, or that this user may
        not read, is replaced by one that is used once: its digests can be compared with no others.
        """
        path = os.path.join(state_dir, _NAME)
        if not make:
            try:
                return cls(_read(path))
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                return cls(os.urandom(_BYTES))
        try:
            try:
                return cls(_read(path))
            except FileNotFoundError:
                _make(state_dir, path)
                return cls(_read(path))
        except (OSError, AsyncStateError) as error:
            said = error.strerror if isinstance(error, OSError) else str(error)
            raise PlanError(f"the key for the digests of plans, {path}: {said}") from None

    def bytes(self, data: bytes) -> str:
        """Return the digest of bytes."""
        digest = self._hash.copy()
        digest.update(data)
        return digest.hexdigest()

    def of_value(self, *parts: object) -> str:
        """Return the digest of plain data of any kind; ``1``, ``"1"`` and ``True`` differ."""
        return self.bytes(canonical(list(parts)))


def canonical(value: object) -> bytes:
    """Return the bytes of a value: the same for equal values, at any order of keys in mappings.

    Values that JSON has no form for, or whose form another value shares (dates, keys that are numbers), are written
    with their types.
    """
    try:
        data = encoded(value, SORTED)
        if msgspec.json.decode(data) == value:
            return data
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    return MARK + encoded(_typed(value))


def _read(path: str) -> bytes:
    with filesystem.open_read(path) as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        data = file.read(_BYTES + 1)
    if mode & 0o077:
        raise PlanError(f"others may read the file (mode {mode:04o}). {_REMOVE}")
    if len(data) != _BYTES:
        raise PlanError(f"the file holds no key. {_REMOVE}")
    return data


def _make(state_dir: str, path: str) -> None:
    """Make a key. If two programs do so at once, both use the first one that gets the file name."""
    filesystem.makedirs(state_dir, 0o700)
    with Replacement(path, 0o600) as new:
        new.write(os.urandom(_BYTES))
        os.fsync(new.fd)
        temporary = new.keep()
    try:
        with suppress(FileExistsError):
            filesystem.link(temporary, path)
    finally:
        filesystem.remove(temporary)


def _typed(value: object, depth: int = 0) -> object:
    """Return plain data that holds the type of each value."""
    kind = type(value)
    if depth > DEEPEST:
        return CUT
    if isinstance(value, Mapping):
        pairs = [[_typed(key, depth + 1), _typed(item, depth + 1)] for key, item in value.items()]
        return ["mapping", sorted(pairs, key=repr)]
    if isinstance(value, (list, tuple)):
        return [kind.__name__, [_typed(item, depth + 1) for item in value]]
    return [kind.__name__, plain(value)]
