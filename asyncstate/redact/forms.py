"""The forms in which a secret turns up: its lines, and the ways programs quote and encode a text."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Iterator

TELLING: Final = 4
"""A secret of fewer characters occurs in ordinary words, so only a text that is nothing else is hidden."""
_TELLING_LINE: Final = 8
"""A shorter line of a longer secret says little, and ordinary texts have lines like it."""
_TELLING_BASE64: Final = 8
_ASSIGNED: Final = re.compile(r"""\s*["']?[\w.-]+["']?\s*[:=]\s*["']?(.*?)["']?,?\s*""")
"""A line that gives a name a value, as in YAML, JSON, INI and environment files."""

_UNRESERVED: Final = re.compile(r"[A-Za-z0-9_.~-]+")
_UNESCAPED: Final = re.compile(r"[ !#-%(-;=?-\[\]-~]+")
"""Printable ASCII without quotes, ampersands, angle brackets and backslashes: no notation escapes these."""


def forms(secret: str) -> set[str]:
    """Return every text that gives ``secret`` away: itself, its lines, and each of them quoted, escaped or encoded.

    All have at least four characters. What consists of asterisks alone is no secret: masks do.
    """
    found: set[str] = set()
    for text in _parts(secret):
        if len(text) >= TELLING:
            found.add(text)
            found.update(form for form in _encodings(text) if len(form) >= TELLING)
    return {form for form in found if form.strip("*")}


def _parts(secret: str) -> Iterator[str]:
    yield secret
    yield secret.strip()
    lines = secret.splitlines()
    if len(lines) < 2:
        return
    for line in lines:
        if len(line.strip()) >= _TELLING_LINE:
            yield line.strip()
        assigned = _ASSIGNED.fullmatch(line)
        if assigned and len(assigned[1]) >= _TELLING_LINE:
            yield assigned[1]


def _encodings(text: str) -> Iterator[str]:
    raw = text.encode("utf-8", "surrogatepass")
    if not _UNESCAPED.fullmatch(text):
        yield repr(text)[1:-1]
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]
        yield text.encode("utf-8", "backslashreplace").decode()
        yield shlex.quote(text).strip("'")
        yield html.escape(text)
        yield html.escape(text, quote=False)
    if not _UNRESERVED.fullmatch(text):
        yield quote(raw)
        yield quote(raw, safe="")
        yield quote_plus(raw)
    for shift, foreign in enumerate((0, 2, 3)):
        # Base64 takes three bytes at a time: what stands before decides which of three texts a secret becomes.
        encoded = base64.b64encode(b"\0" * shift + raw).rstrip(b"=")
        own = encoded[foreign : len(encoded) - (1 if (shift + len(raw)) % 3 else 0)].decode()
        if len(own) >= _TELLING_BASE64:
            yield own
