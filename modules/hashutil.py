"""Checksums, base64 and HMAC of strings and files."""

from __future__ import annotations

import binascii
import hashlib
import hmac
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.data import digest as digests
from asyncstate.data import text
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Callable

_CHECKSUMS = ("md5", "sha256", "sha512")
_CHUNK = 1 << 18


def digest(instr: Any, checksum: str = "md5") -> str:
    """Return the md5, sha256 or sha512 checksum of a string. CommandExecutionError for any other."""
    if checksum not in _CHECKSUMS:
        raise CommandExecutionError(f"Hash func '{checksum}' is not supported.")
    return digests.hex_digest(instr, checksum)


def digest_file(infile: str, checksum: str = "md5") -> str:
    """Return the checksum of a file. CommandExecutionError if there is no such file."""
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
    return digests.base64_encode(instr)


def base64_b64decode(instr: Any) -> Any:
    """Decode base64 text; return text if it is UTF-8, else bytes."""
    return _decoded(instr, digests.base64_decode)


def base64_encodestring(instr: Any) -> str:
    """Return a string in base64, in lines of 76 characters, each with a newline at its end."""
    return digests.base64_lines(instr)


def base64_decodestring(instr: Any) -> Any:
    """Decode base64 text, in lines or not; return text if it is UTF-8, else bytes."""
    return _decoded(instr, digests.base64_decode)


def _decoded(instr: Any, decode: Callable[[Any], Any]) -> Any:
    try:
        return decode(instr)
    except binascii.Error as error:
        raise CommandExecutionError(f"Not base64: {error}") from error


def base64_encodefile(fname: str) -> str:
    """Return the content of a file in base64, in lines of 76 characters."""
    return digests.base64_lines(filesystem.read_bytes(fname))


def base64_decodefile(instr: Any, outfile: str) -> bool:
    """Decode base64 text to a file, which is replaced in one step."""
    row = __salt__["file.manage_file"](
        outfile, "", None, None, {}, None, None, None, None, "base", "", contents=_decoded(instr, digests.base64_bytes)
    )
    if row["result"] is False:
        raise CommandExecutionError(row["comment"])
    return True


def hmac_signature(string: Any, shared_secret: Any, challenge_hmac: Any) -> bool:
    """Return whether ``challenge_hmac`` is the base64 HMAC-SHA256 of a string."""
    return digests.hmac_verify(string, shared_secret, challenge_hmac)


def hmac_compute(string: Any, shared_secret: Any) -> str:
    """Return the HMAC-SHA256 of a string, in hexadecimal."""
    return digests.hmac_compute(string, shared_secret)


def github_signature(string: Any, shared_secret: Any, challenge_hmac: str) -> bool:
    """Return whether ``challenge_hmac`` (``sha256=…``) is the signature GitHub sends with a web hook."""
    kind, _, challenge = challenge_hmac.partition("=")
    return hmac.compare_digest(
        hmac.new(text.to_bytes(shared_secret), text.to_bytes(string), kind).hexdigest(), challenge
    )
