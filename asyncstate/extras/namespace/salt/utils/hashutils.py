"""Digests and base64."""

from __future__ import annotations

from asyncstate.data.digest import base64_decode as base64_b64decode
from asyncstate.data.digest import base64_decode as base64_decodestring
from asyncstate.data.digest import base64_encode as base64_b64encode
from asyncstate.data.digest import base64_lines as base64_encodestring
from asyncstate.data.digest import hmac_compute, random_hash
from asyncstate.data.digest import hmac_verify as hmac_signature
from asyncstate.data.digest import md5 as md5_digest
from asyncstate.data.digest import sha1 as sha1_digest
from asyncstate.data.digest import sha256 as sha256_digest
from asyncstate.data.digest import sha512 as sha512_digest
from asyncstate.data.host import file_hashsum as get_hash
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else

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

__getattr__: ModuleGetattr = nothing_else(__name__)
