"""Passwords of roles as PostgreSQL stores them: the verifiers ``md5…`` and ``SCRAM-SHA-256$…``."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import stringprep
import unicodedata
from typing import Any

from asyncstate.errors import InvocationError

DEFAULT_METHOD = "md5"
_SCRAM = re.compile(r"SCRAM-SHA-256\$(\d+):([A-Za-z0-9+/=]+)\$")
_PROHIBITED = (
    stringprep.in_table_c12,
    stringprep.in_table_c21_c22,
    stringprep.in_table_c3,
    stringprep.in_table_c4,
    stringprep.in_table_c5,
    stringprep.in_table_c6,
    stringprep.in_table_c7,
    stringprep.in_table_c8,
    stringprep.in_table_c9,
)


def encrypted(role: str, password: Any, method: Any) -> str:
    """Return the value to store for a password, which may already be a verifier.

    ``method`` is ``md5`` (or True), ``scram-sha-256``, or False for the plain text, which the server then encrypts by
    its own method. InvocationError for any other.
    """
    text = str(password)
    if method in {True, "md5"}:
        return text if text.startswith("md5") else _md5(role, text)
    if method == "scram-sha-256":
        return text if text.startswith("SCRAM-SHA-256") else _scram(text)
    if method is False:
        return text
    raise InvocationError(
        f"Unknown password algorithm: {method}. It may be md5 (or True), scram-sha-256 or False for none."
    )


def matches(role: str, password: Any, stored: str, method: Any) -> bool:
    """Return whether ``stored`` is the result of ``method`` for a password.

    If ``method`` is False, any verifier of the password matches: servers since version 10 store no plain text.
    """
    text = str(password)
    if text == stored:
        return True
    if method in {True, "md5", False} and stored.startswith("md5"):
        return hmac.compare_digest(_md5(role, text), stored)
    scram = _SCRAM.match(stored) if method in {"scram-sha-256", False} else None
    if scram is None:
        return False
    salt = base64.b64decode(scram.group(2))
    return hmac.compare_digest(_scram(text, salt=salt, iterations=int(scram.group(1))), stored)


def _md5(role: str, password: str) -> str:
    return "md5" + hashlib.md5(f"{password}{role}".encode(), usedforsecurity=False).hexdigest()


def _scram(password: str, salt: bytes | None = None, iterations: int = 4096) -> str:
    """Return the verifier of RFC 7677, with a new salt if none is given."""
    salt = os.urandom(16) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", _prepared(password).encode(), salt, iterations)
    stored_key = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    texts = [base64.b64encode(each).decode() for each in (salt, stored_key, server_key)]
    return "SCRAM-SHA-256${}:{}${}:{}".format(iterations, *texts)


def _prepared(password: str) -> str:
    """Return a password in the form of RFC 4013; like the server, return it unchanged if it has none."""
    mapped = "".join(
        " " if stringprep.in_table_c12(each) else each for each in password if not stringprep.in_table_b1(each)
    )
    text = unicodedata.ucd_3_2_0.normalize("NFKC", mapped)
    if not text or any(stringprep.in_table_a1(each) or any(table(each) for table in _PROHIBITED) for each in text):
        return password
    if any(map(stringprep.in_table_d1, text)):
        right_to_left = stringprep.in_table_d1(text[0]) and stringprep.in_table_d1(text[-1])
        if any(map(stringprep.in_table_d2, text)) or not right_to_left:
            return password
    return text
