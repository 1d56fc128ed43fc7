"""Password hashes, made by the system's libcrypt."""

from __future__ import annotations

import ctypes
import secrets
import string
import threading

from asyncstate.errors import CommandExecutionError

_PREFIXES = {"md5": "$1$", "blowfish": "$2b$12$", "sha256": "$5$", "sha512": "$6$"}
_SALT_LENGTHS = {"md5": 8, "blowfish": 22, "sha256": 16, "sha512": 16}
_ALPHABET = "./" + string.ascii_letters + string.digits

_libcrypt_has_one_buffer = threading.Lock()


def hashed(password: str, salt: str | None = None, algorithm: str = "sha512") -> str:
    """Return the hash of a password; without a ``salt`` a random one is used, with it the hash is always the same.

    CommandExecutionError if the system does not know the algorithm.
    """
    if algorithm not in _PREFIXES:
        raise CommandExecutionError(f"Algorithm '{algorithm}' is not supported. It is one of {', '.join(_PREFIXES)}")
    salt = salt or "".join(secrets.choice(_ALPHABET) for _ in range(_SALT_LENGTHS[algorithm]))
    setting = salt if salt.startswith("$") else f"{_PREFIXES[algorithm]}{salt}"
    crypt = _library().crypt
    crypt.restype = ctypes.c_char_p
    with _libcrypt_has_one_buffer:
        answer: bytes | None = crypt(password.encode(), setting.encode())
    text = (answer or b"*").decode("ascii", "replace")
    if text.startswith("*") or not text.startswith("$"):
        raise CommandExecutionError(f"This system's libcrypt cannot hash with {algorithm}")
    return text


def _library() -> ctypes.CDLL:
    for name in ("libcrypt.so.1", "libcrypt.so.2", "libcrypt.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise CommandExecutionError("There is no libcrypt to hash passwords with")
