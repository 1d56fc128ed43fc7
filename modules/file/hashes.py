"""Checksums of files, and the forms in which states give checksums."""

from __future__ import annotations

import hashlib
import os
import re
import string
from typing import Any
from urllib.parse import urlparse

from asyncstate import filesystem
from asyncstate.dunders import __salt__, check_cancelled
from asyncstate.errors import CommandExecutionError, InvocationError

from .paths import expand
from .urls import PROTOCOLS, redact

HASHES = {"sha512": 128, "sha384": 96, "sha256": 64, "sha224": 56, "sha1": 40, "md5": 32}
"""Hash types a state may name, with the number of their hexadecimal digits."""
TYPE_OF_LENGTH = {length: name for name, length in HASHES.items()}

_CHUNK = 1 << 18


def get_hash(path: str, form: str = "sha256", chunk_size: int = _CHUNK) -> str:
    """Return the hexadecimal checksum of a file. ValueError for an unknown ``form``; OSError if it cannot be read."""
    try:
        digest = hashlib.new(form, usedforsecurity=False)
    except ValueError as error:
        raise ValueError(f"Invalid hash type: {form}") from error
    with filesystem.open_read(expand(path)) as stream:
        while chunk := stream.read(chunk_size):
            digest.update(chunk)
            check_cancelled()
    return digest.hexdigest()


def get_sum(path: str, form: str = "sha256") -> str:
    """Return the checksum of a file, or the text "File not found"."""
    return get_hash(path, form) if filesystem.is_file(expand(path)) else "File not found"


def check_hash(path: str, file_hash: str) -> bool:
    """Return whether a file has the checksum ``type:digits``, ``type=digits`` or plain digits of a known length."""
    if not isinstance(file_hash, str):
        raise InvocationError("hash must be a string")
    for separator in (":", "="):
        kind, found, digits = file_hash.partition(separator)
        if found:
            return get_hash(path, kind) == digits
    known = TYPE_OF_LENGTH.get(len(file_hash))
    if known is None:
        raise InvocationError(
            f"Hash {file_hash} (length: {len(file_hash)}) could not be matched to a supported hash type. "
            f"The supported hash types and lengths are: {_supported()}"
        )
    return get_hash(path, known) == file_hash


def _supported() -> str:
    return ", ".join(f"{TYPE_OF_LENGTH[length]} ({length})" for length in sorted(TYPE_OF_LENGTH))


def get_source_sum(
    file_name: str = "",
    source: str = "",
    source_hash: str | None = None,
    source_hash_name: str | None = None,
    saltenv: str = "base",
    verify_ssl: bool = True,
    source_hash_sig: Any = None,
    signed_by_any: Any = None,
    signed_by_all: Any = None,
    keyring: str | None = None,
    gnupghome: str | None = None,
    sig_backend: str = "gpg",
) -> dict[str, str]:
    """Return ``{"hash_type", "hsum"}`` of a ``source_hash``: digits, ``type=digits``, a file of hashes, or its URL.

    Raises CommandExecutionError if the ``source_hash`` is invalid or cannot be read.
    """
    if not isinstance(source_hash, str):
        raise _malformed(source_hash)
    listing = _hash_file(source_hash, saltenv, verify_ssl=verify_ssl)
    if listing:
        if source_hash_sig:
            verify_signature(
                listing,
                signature=None if source_hash_sig is True else source_hash_sig,
                signed_by_any=signed_by_any,
                signed_by_all=signed_by_all,
                keyring=keyring,
                gnupghome=gnupghome,
                sig_backend=sig_backend,
                saltenv=saltenv,
            )
        found = extract_hash(listing, "", file_name, source, source_hash_name)
        if found is None:
            raise _malformed(source_hash)
        return {**found, "hsum": found["hsum"].lower()}
    return _parse_hash(source_hash)


def _malformed(source_hash: Any) -> CommandExecutionError:
    return CommandExecutionError(
        f"Source hash {redact(str(source_hash))} format is invalid. The supported formats are: 1) a hash, "
        "2) an expression in the format <hash_type>=<hash>, or 3) either a path to a local file containing hashes, or "
        f"a URI of a remote hash file. Supported protocols for remote hash files are: {', '.join(PROTOCOLS)}. "
        f"The hash may also not be of a valid length, the following are supported hash types and lengths: "
        f"{_supported()}."
    )


def _hash_file(source_hash: str, saltenv: str, *, verify_ssl: bool) -> str:
    """Return the local path of the file of hashes that ``source_hash`` names, "" if it is a hash itself."""
    if os.path.isabs(source_hash):
        return source_hash
    scheme = urlparse(source_hash).scheme
    if scheme in PROTOCOLS:
        cached = __salt__["cp.cache_file"](source_hash, saltenv, verify_ssl=verify_ssl)
        if not cached:
            raise CommandExecutionError(f"Source hash file {redact(source_hash)} not found")
        return str(cached)
    if scheme:
        raise _malformed(source_hash)
    return ""


def _parse_hash(source_hash: str) -> dict[str, str]:
    kind, separator, digits = (part.strip() for part in source_hash.partition("="))
    if not separator:
        digits = kind
        known = TYPE_OF_LENGTH.get(len(digits))
        if known is None or not all(digit in string.hexdigits for digit in digits):
            raise _malformed(source_hash)
        kind = known
    if kind not in HASHES:
        raise CommandExecutionError(
            f"Invalid hash type '{kind}'. Supported hash types are: {', '.join(HASHES)}. Either remove the hash type "
            f"and simply use '{digits}' as the source_hash, or change the hash type to a supported type."
        )
    if len(digits) not in TYPE_OF_LENGTH:
        raise _malformed(source_hash)
    if len(digits) != HASHES[kind]:
        raise CommandExecutionError(
            f"Invalid length ({len(digits)}) for hash type '{kind}'. Either remove the hash type and simply use "
            f"'{digits}' as the source_hash, or change the hash type to '{TYPE_OF_LENGTH[len(digits)]}'"
        )
    return {"hash_type": kind, "hsum": digits.lower()}


def extract_hash(
    hash_fn: str,
    hash_type: str = "sha256",
    file_name: str = "",
    source: str = "",
    source_hash_name: str | None = None,
) -> dict[str, str] | None:
    """Find the hash for a file in a file of hashes (``sha256sum`` output, Debian ``.dsc``, …).

    The line that names ``source_hash_name`` wins, then one that names ``file_name``, then ``source`` (both by base
    name), then the first line with any hash. None if there is none.
    """
    length = HASHES.get(hash_type)
    digits = str(length) if length else f"{min(TYPE_OF_LENGTH)},{max(TYPE_OF_LENGTH)}"
    pattern = re.compile(rf"(?i)(?<![a-z0-9])([a-f0-9]{{{digits}}})(?![a-z0-9])")
    parsed = urlparse(str(source))
    names = (
        (str(source_hash_name or ""), str(source_hash_name or ""), string.whitespace),
        (str(file_name), os.path.basename(str(file_name)), string.whitespace + r"\/*"),
        (str(source), os.path.basename(parsed.path or parsed.netloc), string.whitespace + r"\/*"),
    )
    best: dict[str, str] | None = None
    rank = len(names)
    with filesystem.open_read(hash_fn) as lines:
        for raw in lines:
            line = raw.decode("utf-8", "replace").strip()
            match = pattern.search(line)
            known = TYPE_OF_LENGTH.get(len(match.group(1))) if match else None
            if match is None or known is None:
                continue
            place = next((index for index, name in enumerate(names) if _names(line, *name)), len(names))
            if best is None or place < rank:
                best, rank = {"hsum": match.group(1), "hash_type": known}, place
    return best


def _names(line: str, full: str, base: str, separators: str) -> bool:
    """Return whether a line ends in ``base`` after one of ``separators``, or begins with ``full`` and a space."""
    if not full:
        return False
    if base and line.endswith(base):
        return len(line) > len(base) and line[-len(base) - 1] in separators
    return line.startswith(full) and line[len(full) : len(full) + 1].isspace()


def verify_signature(
    on_file: str,
    signature: Any = None,
    signed_by_any: Any = None,
    signed_by_all: Any = None,
    keyring: str | None = None,
    gnupghome: str | None = None,
    sig_backend: str = "gpg",
    saltenv: str = "base",
) -> None:
    """Verify a file with the module ``sig_backend``. Raises CommandExecutionError if the signature is not valid."""
    if f"{sig_backend}.verify" not in __salt__:
        raise CommandExecutionError(
            f"Signature verification requires the {sig_backend} module, which could not be found. "
            "Make sure you have the necessary tools and libraries intalled"
        )
    detached: Any = None
    if signature is not None:
        paths = []
        for one in [signature] if isinstance(signature, str) else signature:
            cached = __salt__["cp.cache_file"](one, saltenv)
            if not cached and sig_backend == "gpg":
                raise CommandExecutionError(f"Detached signature file {one} not found")
            paths.append(cached or one)
        detached = paths[0] if isinstance(signature, str) else paths
    answer = __salt__[f"{sig_backend}.verify"](
        filename=on_file,
        signature=detached,
        keyring=keyring,
        gnupghome=gnupghome,
        signed_by_any=signed_by_any,
        signed_by_all=signed_by_all,
    )
    if answer["res"] is not True:
        raise CommandExecutionError(f"The file's signature could not be verified: {answer['message']}")


def unsigned(path: str, signature: Any, **trust: Any) -> str:
    """Return the error if a fetched file is not signed as `verify_signature` demands; "" if it is, or need not be.

    The signature is a file, several, or True for one within the file.
    """
    if not signature:
        return ""
    try:
        verify_signature(path, None if signature is True else signature, **trust)
    except CommandExecutionError as error:
        return f"Failed checking new file's signature: {error}"
    return ""


def disproof(path: str, source: Any, name: str, wanted: dict[str, str], *, updating: bool) -> str:
    """Return the error if a fetched file does not have the hash of its source, "" if it has, or without a hash."""
    expected = wanted.get("hsum", "").lower()
    actual = get_hash(path, wanted["hash_type"]) if expected else ""
    if actual == expected:
        return ""
    from asyncstate.data.digest import disproved  # noqa: PLC0415 - an error

    subject = redact(str(source)) if updating else name
    return disproved(subject, wanted, actual, ambiguous=updating)
