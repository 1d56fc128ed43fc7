"""The lines of known_hosts, and lookup by host."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from typing import NamedTuple

_HASHED = "|1|"


class Entry(NamedTuple):
    """A line that names hosts and one of their keys. ``marker`` is ``@cert-authority``, ``@revoked`` or ""."""

    names: str
    enc: str
    key: str
    rest: str = ""
    marker: str = ""

    def is_about(self, host: str) -> bool:
        """Return whether ``host`` is one of the hosts: by a pattern, by a name, or by a hashed name."""
        if self.names.startswith(_HASHED):
            salt, _, known = self.names[len(_HASHED) :].partition("|")
            try:
                return hmac.compare_digest(_digest(base64.b64decode(salt), host), known)
            except (binascii.Error, ValueError):
                return False
        patterns = self.names.lower().split(",")
        if any(each.startswith("!") and _fits(each[1:], host) for each in patterns):
            return False
        return any(_fits(each, host) for each in patterns)

    def hashed(self) -> list[str]:
        """Return a line with a hashed name for each name; the line unchanged if a pattern or a marker forbids it."""
        if self.marker or self.names.startswith(_HASHED) or any(mark in self.names for mark in "*?!"):
            return [str(self)]
        return [str(self._replace(names=hashed_name(name))) for name in self.names.split(",")]

    def __str__(self) -> str:
        return " ".join(filter(None, (self.marker, self.names, self.enc, self.key, self.rest)))


def entry(line: str) -> Entry | None:
    """Return the entry of a line, None for a comment, an empty line or a malformed one."""
    words = line.split()
    if not words or words[0].startswith("#"):
        return None
    marker = words.pop(0) if words[0].startswith("@") else ""
    if len(words) < 3:
        return None
    names, enc, key, *rest = words
    return Entry(names, enc, key, " ".join(rest), marker)


def hashed_name(name: str) -> str:
    """Return a name as ``HashKnownHosts`` writes it."""
    salt = os.urandom(hashlib.sha1(usedforsecurity=False).digest_size)
    return f"{_HASHED}{base64.b64encode(salt).decode()}|{_digest(salt, name)}"


def _digest(salt: bytes, name: str) -> str:
    return base64.b64encode(hmac.new(salt, name.encode(), "sha1").digest()).decode()


def _fits(pattern: str, host: str) -> bool:
    """Return whether a host matches a pattern with ``*`` and ``?``.

    This uses no regular expression: a user's line with many stars would make it try all ways to split a name.
    """
    place = at = 0
    star, mark = -1, 0
    while at < len(host):
        if place < len(pattern) and pattern[place] == "*":
            star, mark = place, at
            place += 1
        elif place < len(pattern) and pattern[place] in ("?", host[at]):
            place, at = place + 1, at + 1
        elif star >= 0:
            place, mark = star + 1, mark + 1
            at = mark
        else:
            return False
    return not pattern[place:].strip("*")
