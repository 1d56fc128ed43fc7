"""Keys and certificates on their way out: as text, or into files at one stroke, secrets for their owner alone."""

from __future__ import annotations

import base64
import os
import tempfile
from typing import Any

from cryptography.hazmat.primitives import serialization

from asyncstate.errors import CommandExecutionError, InvocationError


def write(path: str, data: bytes, *, secret: bool) -> None:
    """Write a file through a private one beside it; mode 0600 if it is a secret, 0644 otherwise."""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".asyncstate-")
    except OSError as error:
        raise CommandExecutionError(f"Could not write {path}: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), 0o600 if secret else 0o644)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        os.unlink(temporary)
        raise CommandExecutionError(f"Could not write {path}: {error.strerror}") from error
    except BaseException:
        os.unlink(temporary)
        raise


def checked_encoding(encoding: str) -> None:
    """InvocationError unless ``encoding`` is one we write."""
    if encoding not in {"pem", "der"}:
        raise InvocationError(f"Invalid value '{encoding}' for encoding. Valid: der, pem")


def out(data: bytes, encoding: str, path: str | None, *, raw: bool, secret: bool = False) -> Any:
    """Return what was made: as text, DER in base64; as bytes if ``raw``; or say so, once it is written to ``path``."""
    if path is not None:
        write(path, data, secret=secret)
        return f"{'PEM' if encoding == 'pem' else 'DER'} written to {path}"
    if raw:
        return data
    return data.decode() if encoding == "pem" else base64.b64encode(data).decode()


def library_encoding(name: str) -> serialization.Encoding:
    """Return an encoding as the library names it."""
    return serialization.Encoding.PEM if name == "pem" else serialization.Encoding.DER
