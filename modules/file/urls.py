"""``salt://`` and other URLs that states name as sources."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from asyncstate.data.urls import SALT_SCHEME

PROTOCOLS = ("salt", "file", "http", "https", "ftp", "swift", "s3")
REMOTE = ("http", "https", "ftp", "swift", "s3")

_CREDENTIALS = re.compile(r"(https?)://.*@")


def parse_salt_url(url: str) -> tuple[str, str | None]:
    """Split ``salt://path?saltenv=env`` into the path and the environment, None if it names none.

    In ``salt://|path`` the rest is literal, question marks too.
    """
    if not url.startswith(SALT_SCHEME):
        return url, None
    rest = url.removeprefix(SALT_SCHEME)
    if rest.startswith("|"):
        return rest[1:], None
    path, _, query = rest.partition("?")
    return path.lstrip("/"), next(iter(parse_qs(query).get("saltenv", [])), None)


def is_remote(source: str) -> bool:
    """Return whether ``source`` is fetched over the network."""
    return urlsplit(source).scheme in REMOTE


def redact(url: str) -> str:
    """Return ``url`` without its password, for messages."""
    return _CREDENTIALS.sub(r"\1://<redacted>@", url)
