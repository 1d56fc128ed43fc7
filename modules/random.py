"""The ``random`` execution module: random strings and numbers, and password hashes."""

from __future__ import annotations

import hashlib
import random as _random
import secrets
import string
from typing import Any

from asyncstate.data import collection, digest
from asyncstate.dunders import __grains__, __salt__
from asyncstate.errors import CommandExecutionError, InvocationError

__func_alias__ = {"hash_": "hash"}

_CRYPT = {"sha512": "-6", "sha256": "-5", "md5": "-1"}


def hash_(value: str | bytes, algorithm: str = "sha512") -> str:
    """Return the hexadecimal digest of ``value``."""
    if algorithm not in hashlib.algorithms_available:
        raise InvocationError("You must specify a valid algorithm.")
    return digest.hex_digest(value, algorithm)


def str_encode(value: str | bytes, encoder: str = "base64") -> Any:
    """Return ``value`` in base64, or encoded in a character set."""
    if encoder == "base64":
        return digest.base64_encode(value)
    if not isinstance(value, str):
        raise InvocationError("Value must be an encode-able string")
    try:
        return value.encode(encoder)
    except LookupError:
        raise InvocationError("You must specify a valid encoder") from None


def get_str(
    length: int = 20,
    chars: str | None = None,
    lowercase: bool = True,
    uppercase: bool = True,
    digits: bool = True,
    punctuation: bool = True,
    whitespace: bool = False,
    printable: bool = False,
) -> str:
    """Return a random string, strong enough for a password, of ``chars`` or of the enabled character classes."""
    alphabet = string.printable if printable else chars or ""
    if not alphabet:
        classes = (
            (lowercase, string.ascii_lowercase),
            (uppercase, string.ascii_uppercase),
            (digits, string.digits),
            (punctuation, string.punctuation),
            (whitespace, string.whitespace),
        )
        alphabet = "".join(letters for wanted, letters in classes if wanted)
    if not alphabet:
        raise CommandExecutionError("random.get_str: no characters to choose from")
    return "".join(secrets.choice(alphabet) for _ in range(int(length)))


def shadow_hash(crypt_salt: str | None = None, password: str | None = None, algorithm: str = "sha512") -> str:
    """Return a password hash as in /etc/shadow; without a password, that of a random one. Needs ``openssl``."""
    if algorithm not in _CRYPT:
        raise InvocationError(
            f"Cannot hash using '{algorithm}' hash algorithm. The supported algorithms are: {', '.join(_CRYPT)}."
        )
    salt = crypt_salt or get_str(16, punctuation=False)
    argv = ["openssl", "passwd", _CRYPT[algorithm], "-salt", salt, "-stdin"]
    hashed: str = __salt__["cmd.run_stdout"](
        argv,
        stdin=get_str() if password is None else password,
        stdin_raw_newlines=True,
        output_loglevel="quiet",
        python_shell=False,
    )
    if not hashed.startswith("$"):
        raise CommandExecutionError("random.shadow_hash: openssl could not hash the password")
    return hashed


def rand_int(start: int = 1, end: int = 10, seed: Any = None) -> int:
    """Return a random integer from ``start`` to ``end``, always the same one for a ``seed``."""
    return _generator(seed).randint(start, end)


def seed(range: int = 10, hash: Any = None) -> int:
    """Return an integer below ``range`` that is always the same for this machine (or for ``hash``)."""
    return _random.Random(__grains__["id"] if hash is None else hash).randrange(range)  # noqa: S311 - no secret


def sample(value: list[Any], size: int, seed: Any = None) -> list[Any]:
    """Return ``size`` random items of a list, always the same ones for a ``seed``."""
    return collection.random_sample(value, size, None if seed is None else str(seed))


def shuffle(value: list[Any], seed: Any = None) -> list[Any]:
    """Return the items of a list in random order, always the same one for a ``seed``."""
    return sample(value, len(value), seed)


def _generator(seed: Any) -> _random.Random:
    """Return a separate generator: Python's shared one is never seeded from here."""
    return _random.Random(seed)  # noqa: S311 - no secret
