"""Digests, base64 and random text."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from typing import TYPE_CHECKING

from asyncstate.data.text import to_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping


def base64_encode(instr: str | bytes) -> str:
    """Return the base64 of text, on one line."""
    return base64.b64encode(to_bytes(instr)).decode()


def base64_lines(instr: str | bytes) -> str:
    """Return the base64 of text in lines of 76 characters, each with a newline at its end."""
    return base64.encodebytes(to_bytes(instr)).decode()


def base64_bytes(instr: str | bytes) -> bytes:
    """Return the bytes that base64 encodes, on one line or several. Raises binascii.Error."""
    return base64.b64decode(to_bytes(instr))


def base64_decode(instr: str | bytes) -> str | bytes:
    """Return the text that base64 encodes; bytes if it is not text. Raises binascii.Error."""
    decoded = base64_bytes(instr)
    try:
        return decoded.decode()
    except UnicodeDecodeError:
        return decoded


def hex_digest(instr: str | bytes, form: str) -> str:
    """Return the hexadecimal digest of text by the name of an algorithm that `hashlib` knows. Raises ValueError."""
    return hashlib.new(form, to_bytes(instr), usedforsecurity=False).hexdigest()


def md5(instr: str | bytes) -> str:
    """Return the hex MD5."""
    return hashlib.md5(to_bytes(instr), usedforsecurity=False).hexdigest()


def sha1(instr: str | bytes) -> str:
    """Return the hex SHA-1."""
    return hashlib.sha1(to_bytes(instr), usedforsecurity=False).hexdigest()


def sha256(instr: str | bytes) -> str:
    """Return the hex SHA-256."""
    return hashlib.sha256(to_bytes(instr)).hexdigest()


def sha512(instr: str | bytes) -> str:
    """Return the hex SHA-512."""
    return hashlib.sha512(to_bytes(instr)).hexdigest()


def disproved(subject: str, wanted: Mapping[str, str], actual: str, *, ambiguous: bool) -> str:
    """Return Salt's message for a file with another checksum than ``hsum`` of type ``hash_type``."""
    hint = (
        ". If the 'source_hash' value refers to a remote file with multiple possible matches, "
        "then it may be necessary to set 'source_hash_name'."
    )
    expected = f"Specified {wanted['hash_type']} checksum for {subject} ({wanted['hsum'].lower()})"
    return f"{expected} does not match actual checksum ({actual}){hint if ambiguous else ''}"


def hmac_compute(string: str | bytes, shared_secret: str | bytes) -> str:
    """Return the hex HMAC-SHA256 of a text."""
    return hmac.new(to_bytes(shared_secret), to_bytes(string), hashlib.sha256).hexdigest()


def hmac_verify(string: str | bytes, shared_secret: str | bytes, challenge_hmac: str | bytes) -> bool:
    """Return whether ``challenge_hmac`` is the base64 HMAC-SHA256 of a text (the ``hmac`` filter)."""
    digest = hmac.new(to_bytes(shared_secret), to_bytes(string), hashlib.sha256).digest()
    return hmac.compare_digest(base64.b64encode(digest), to_bytes(challenge_hmac))


def random_hash(size: int = 9999999999, hash_type: str | None = None) -> str:
    """Return the digest of a random number up to ``size``."""
    number = secrets.randbelow(size + 1)
    return hex_digest(str(number), hash_type or "md5")


def random_str(size: int = 32) -> str:
    """Return ``size`` random base64 characters."""
    return base64.b64encode(os.urandom(size)).decode()[:size]
