"""NATS's keys: ed25519 keys as text, a seed for the owner and a public key for everyone.

The text is base32 of a prefix for the key's role, the 32 bytes of the key, and their CRC-16. Seeds begin with ``S``:
``SU`` for a user, who connects, ``SO`` for an operator, who signs. The format comes from
https://github.com/nats-io/nkeys; its Python package is not used because it brings a second library for ed25519.
"""

from __future__ import annotations

import base64
import binascii
import os
from typing import Final

from asyncstate.errors import FleetError

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
except ImportError as _missing:
    raise FleetError("runs across hosts need keys: pip install 'nats-py>=2.9' 'cryptography>=43'") from _missing

USER: Final = "U"
OPERATOR: Final = "O"

_ROLES: Final = {USER: 20 << 3, OPERATOR: 14 << 3}
_SEED: Final = 18 << 3
_SIZE: Final = 32


class KeyPair:
    """A private key for signatures, named by its public key. Its seed is shown by ``seed`` only, never by ``repr``."""

    def __init__(self, role: str, secret: bytes) -> None:
        self.role = role
        self._secret = secret
        self._key = Ed25519PrivateKey.from_private_bytes(secret)

    @classmethod
    def new(cls, role: str) -> KeyPair:
        """Return a new random key."""
        return cls(role, os.urandom(_SIZE))

    @classmethod
    def from_seed(cls, seed: str) -> KeyPair:
        """Return the key of a seed. Raises ValueError, without the seed, for any other text."""
        raw = _decoded(seed)
        if len(raw) != _SIZE + 2 or raw[0] & 0xF8 != _SEED:
            raise ValueError("not the seed of a key")
        prefix = (raw[0] & 7) << 5 | raw[1] >> 3
        return cls(_role_of(prefix), raw[2:])

    @property
    def seed(self) -> str:
        """The text from which `from_seed` makes this key again: a secret."""
        prefix = _ROLES[self.role]
        return _encoded(bytes([_SEED | prefix >> 5, (prefix & 31) << 3]) + self._secret)

    @property
    def public(self) -> str:
        """The public key."""
        return _encoded(bytes([_ROLES[self.role]]) + self._key.public_key().public_bytes_raw())

    def sign(self, data: bytes) -> bytes:
        """Return the signature of ``data``, 64 bytes."""
        return self._key.sign(data)


def verified(public: str, signature: bytes, data: bytes) -> bool:
    """Return whether the owner of a public key signed ``data``. Raises ValueError if it is no public key."""
    key = Ed25519PublicKey.from_public_bytes(_raw_public(public))
    try:
        key.verify(signature, data)
    except InvalidSignature:
        return False
    return True


def role_of(public: str) -> str:
    """Return the role of a public key, `USER` or `OPERATOR`. Raises ValueError if it is no public key."""
    _raw_public(public)
    return public[0]


def _raw_public(public: str) -> bytes:
    raw = _decoded(public)
    if len(raw) != _SIZE + 1:
        raise ValueError("not a public key")
    _role_of(raw[0])
    return raw[1:]


def _role_of(prefix: int) -> str:
    for role, its_prefix in _ROLES.items():
        if its_prefix == prefix:
            return role
    raise ValueError("a key of another kind than a user's or an operator's")


def _encoded(raw: bytes) -> str:
    check = binascii.crc_hqx(raw, 0).to_bytes(2, "little")
    return base64.b32encode(raw + check).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    try:
        raw = base64.b32decode(text + "=" * (-len(text) % 8))
    except (ValueError, TypeError):
        raise ValueError("not a key: it has other signs than A-Z and 2-7, or not all") from None
    body, check = raw[:-2], raw[-2:]
    if binascii.crc_hqx(body, 0).to_bytes(2, "little") != check or _encoded(body) != text:
        raise ValueError("not a key: its checksum is wrong")
    return body
