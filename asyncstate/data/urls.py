"""URLs of the file roots, and hiding passwords in the URLs of a text."""

from __future__ import annotations

import re
from typing import Final

from asyncstate.pattern import lazy_pattern

SALT_SCHEME: Final = "salt://"
"""The beginning of the URL of a file in the file roots."""

_WORD: Final = lazy_pattern(r"\S+")
_HTTP: Final = lazy_pattern(r"https?://", re.IGNORECASE)
_ANY: Final = lazy_pattern(r"\w://")


def without_credentials(text: str, *, http_only: bool = False) -> str:
    """Return ``text`` with the user and password of every URL hidden; with ``http_only`` of http and https URLs only.

    It takes linear time: an expression that looks ahead for the ``@`` takes hours if a hook prints a long line.
    """
    scheme = _HTTP if http_only else _ANY

    def hidden(word: re.Match[str]) -> str:
        end = word[0].rfind("@")
        found = scheme.search(word[0], 0, end) if end >= 0 else None
        return word[0] if found is None else f"{word[0][: found.end()]}<redacted>{word[0][end:]}"

    return _WORD.sub(hidden, text)


def parse_salt_url(url: str) -> tuple[str, str | None]:
    """Split ``salt://path?saltenv=env`` into path and environment (None if not given).

    ``salt://|path`` takes the path literally. Text that is not a ``salt://`` URL is returned unchanged.
    """
    if not url.startswith(SALT_SCHEME):
        return url, None
    resource = url.removeprefix(SALT_SCHEME).lstrip("/")
    if "?env=" in resource:  # the name from before Salt 2018; its value is ignored, as Salt does
        path, saltenv = resource.partition("?env=")[0], None
    else:
        path, _, given = resource.partition("?saltenv=")
        saltenv = given or None
    return path.removeprefix("|"), saltenv


def salt_url(path: str, saltenv: str | None = None) -> str:
    """Return the URL of a path in the file roots, for messages."""
    return f"{SALT_SCHEME}{path}" + (f"?saltenv={saltenv}" if saltenv else "")
