"""The form of public keys: lines of authorized_keys, and fingerprints."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import Any, NamedTuple

from asyncstate.errors import CommandExecutionError

_WORD = re.compile(r"[\w@.-]+")
_TYPE = re.compile(r"(?:sk-)?(?:ssh-|ecds)[\w@.-]")

_SHORT_NAMES = {
    **dict.fromkeys(("r", "rsa"), "ssh-rsa"),
    **dict.fromkeys(("d", "dsa", "dss"), "ssh-dss"),
    **dict.fromkeys(("e", "ecdsa"), "ecdsa-sha2-nistp256"),
    "ed25519": "ssh-ed25519",
}
_PLAIN = {
    "ssh-rsa",
    "ssh-dss",
    "ssh-ed25519",
    "rsa-sha2-256",
    "rsa-sha2-512",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
}
_CERTIFIED = {f"{name}-cert-v01@openssh.com" for name in _PLAIN - {"ssh-dss"}}
_IN_HARDWARE = {
    f"sk-{name}{kind}@openssh.com" for name in ("ecdsa-sha2-nistp256", "ssh-ed25519") for kind in ("", "-cert-v01")
}
_TYPES = _PLAIN | _CERTIFIED | _IN_HARDWARE


class Key(NamedTuple):
    """One line of authorized_keys."""

    enc: str
    key: str
    comment: str
    options: list[str]

    def __str__(self) -> str:
        """Return the line, with its end."""
        options = f"{','.join(self.options)} " if self.options else ""
        return f"{options}{self.enc} {self.key} {self.comment}\n"


def parse(line: str) -> Key | None:
    """Return the key of a line, None for a comment or an invalid line."""
    line = line.strip()
    start = -1 if line.startswith("#") else _start_of_type(line)
    if start < 0:
        return None
    enc, key, *comment = line[start:].split()
    options = line[: start - 1 if line[start - 1 : start].isspace() else start]
    return Key(enc, key, " ".join(comment), options.split(",") if options else [])


def _start_of_type(line: str) -> int:
    """Return the position of the key's type, -1 without one; in linear time, as users' files may contain anything."""
    for word in _WORD.finditer(line):
        found = _TYPE.search(word[0]) if line[word.end() : word.end() + 1].isspace() else None
        if found is not None:
            return word.start() + found.start()
    return -1


def key_type(enc: str) -> str:
    """Return the full name of a key type. CommandExecutionError for an unknown one."""
    name = _SHORT_NAMES.get(enc, enc)
    if name not in _TYPES:
        raise CommandExecutionError(f"Incorrect encryption key type '{enc}'.")
    return name


def fingerprint(key: str, hash_type: Any = None) -> str | None:
    """Return ``xx:xx:…`` of a key in base64, None if it is not base64. The hash is SHA-256 unless given."""
    name = str(hash_type or "sha256").lower()
    if name not in hashlib.algorithms_available or name.startswith("shake"):
        raise CommandExecutionError(f"The fingerprint_hash_type {name} is not supported.")
    try:
        raw = base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        return None
    return hashlib.new(name, raw, usedforsecurity=False).digest().hex(":")
