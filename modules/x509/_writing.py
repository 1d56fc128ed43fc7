"""Keys and certificates as output: as text, or written to files in one step, with secrets only for their owner."""

from __future__ import annotations

import base64
import os
from typing import Any

from cryptography.hazmat.primitives import serialization

from asyncstate import filesystem
from asyncstate.errors import CommandExecutionError, InvocationError


def write(path: str, data: bytes, *, secret: bool) -> None:
    """Replace a file in one step; mode 0600 if it is a secret, 0644 otherwise. An existing file keeps its owner."""
    access = filesystem.Access(mode=0o600 if secret else 0o644)
    try:
        filesystem.replace_content(os.path.abspath(path), data, access=access)
    except OSError as error:
        raise CommandExecutionError(f"Could not write {path}: {error.strerror}") from error


def checked_encoding(encoding: str) -> None:
    """Raise InvocationError unless ``encoding`` is supported."""
    if encoding not in {"pem", "der"}:
        raise InvocationError(f"Invalid value '{encoding}' for encoding. Valid: der, pem")


def out(data: bytes, encoding: str, path: str | None, *, raw: bool, secret: bool = False) -> Any:
    """Return ``data`` as text (DER in base64), as bytes if ``raw``; with ``path``, write it and return a message."""
    if path is not None:
        write(path, data, secret=secret)
        return f"{'PEM' if encoding == 'pem' else 'DER'} written to {path}"
    if raw:
        return data
    return data.decode() if encoding == "pem" else base64.b64encode(data).decode()


def library_encoding(name: str) -> serialization.Encoding:
    """Return the library's constant for an encoding."""
    return serialization.Encoding.PEM if name == "pem" else serialization.Encoding.DER
