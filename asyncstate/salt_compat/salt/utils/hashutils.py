"""Digests and base64."""

from __future__ import annotations

import base64

from asyncstate.data.digest import (
    base64_decode,
    base64_encode,
    hmac_compute,
    hmac_verify,
    random_hash,
)
from asyncstate.data.digest import md5 as md5_digest
from asyncstate.data.digest import sha1 as sha1_digest
from asyncstate.data.digest import sha256 as sha256_digest
from asyncstate.data.digest import sha512 as sha512_digest
from asyncstate.data.host import file_hashsum as get_hash
from asyncstate.salt_compat.namespace import ModuleGetattr, nothing_else
from asyncstate.salt_compat.salt.utils.stringutils import to_bytes

__all__ = [
    "base64_b64decode",
    "base64_b64encode",
    "base64_decodestring",
    "base64_encodestring",
    "get_hash",
    "hmac_compute",
    "hmac_signature",
    "md5_digest",
    "random_hash",
    "sha1_digest",
    "sha256_digest",
    "sha512_digest",
]

base64_b64encode = base64_encode
base64_b64decode = base64_decode
hmac_signature = hmac_verify


def base64_encodestring(instr: str | bytes) -> str:
    """Return base64 in lines of 76 characters."""
    return base64.encodebytes(to_bytes(instr)).decode()


def base64_decodestring(instr: str | bytes) -> str | bytes:
    """Return the text base64 stands for; bytes if it is no text."""
    decoded = base64.decodebytes(to_bytes(instr))
    try:
        return decoded.decode()
    except UnicodeDecodeError:
        return decoded


__getattr__: ModuleGetattr = nothing_else(__name__)
