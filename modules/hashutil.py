"""Checksums, base64 and HMAC of strings and files."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError

_CHECKSUMS = ("md5", "sha256", "sha512")
_CHUNK = 1 << 18


def _bytes(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    raise TypeError(f"expected str, bytes, or bytearray not {type(value)}")


def _text(value: bytes) -> Any:
    """Return text if it is UTF-8, else the bytes."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def digest(instr: Any, checksum: str = "md5") -> str:
    """Return the md5, sha256 or sha512 checksum of a string. CommandExecutionError for any other."""
    if checksum not in _CHECKSUMS:
        raise CommandExecutionError(f"Hash func '{checksum}' is not supported.")
    return hashlib.new(checksum, _bytes(instr), usedforsecurity=False).hexdigest()


def digest_file(infile: str, checksum: str = "md5") -> str:
    """Return the checksum of a file. CommandExecutionError if it is not there."""
    if not filesystem.is_file(infile):
        raise CommandExecutionError(f"File path '{infile}' not found.")
    if checksum not in _CHECKSUMS:
        raise CommandExecutionError(f"Hash func '{checksum}' is not supported.")
    found = hashlib.new(checksum, usedforsecurity=False)
    with filesystem.open_read(infile) as stream:
        while chunk := stream.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def md5_digest(instr: Any) -> str:
    """Return the md5 checksum of a string."""
    return digest(instr, "md5")


def sha256_digest(instr: Any) -> str:
    """Return the sha256 checksum of a string."""
    return digest(instr, "sha256")


def sha512_digest(instr: Any) -> str:
    """Return the sha512 checksum of a string."""
    return digest(instr, "sha512")


def base64_b64encode(instr: Any) -> str:
    """Return a string in base64, on one line."""
    return base64.b64encode(_bytes(instr)).decode()


def base64_b64decode(instr: Any) -> Any:
    """Return what base64 text stands for: text if it is UTF-8, else bytes."""
    return _text(_decoded(instr))


def base64_encodestring(instr: Any) -> str:
    """Return a string in base64, in lines of 76 characters, each with a newline at its end."""
    return base64.encodebytes(_bytes(instr)).decode()


def base64_decodestring(instr: Any) -> Any:
    """Return what base64 text, in lines or not, stands for: text if it is UTF-8, else bytes."""
    return _text(_decoded(instr))


def _decoded(instr: Any) -> bytes:
    try:
        return base64.decodebytes(_bytes(instr))
    except binascii.Error as error:
        raise CommandExecutionError(f"Not base64: {error}") from error


def base64_encodefile(fname: str) -> str:
    """Return what a file holds in base64, in lines of 76 characters."""
    return base64.encodebytes(filesystem.read_bytes(fname)).decode()


def base64_decodefile(instr: Any, outfile: str) -> bool:
    """Write what base64 text stands for to a file, which is replaced at one stroke."""
    row = __salt__["file.manage_file"](
        outfile, "", None, None, {}, None, None, None, None, "base", "", contents=_decoded(instr)
    )
    if row["result"] is False:
        raise CommandExecutionError(row["comment"])
    return True


def hmac_signature(string: Any, shared_secret: Any, challenge_hmac: Any) -> bool:
    """Tell whether ``challenge_hmac`` is the base64 HMAC-SHA256 of a string."""
    expected = base64.b64encode(hmac.digest(_bytes(shared_secret), _bytes(string), "sha256"))
    return hmac.compare_digest(expected, _bytes(challenge_hmac))


def hmac_compute(string: Any, shared_secret: Any) -> str:
    """Return the HMAC-SHA256 of a string, in hexadecimal."""
    return hmac.digest(_bytes(shared_secret), _bytes(string), "sha256").hex()


def github_signature(string: Any, shared_secret: Any, challenge_hmac: str) -> bool:
    """Tell whether ``challenge_hmac`` (``sha256=…``) is the signature GitHub sends with a web hook."""
    kind, _, challenge = challenge_hmac.partition("=")
    return hmac.compare_digest(hmac.new(_bytes(shared_secret), _bytes(string), kind).hexdigest(), challenge)
