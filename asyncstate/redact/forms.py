"""The forms in which a secret turns up: its lines, and the ways programs quote and encode a text."""

from __future__ import annotations

import html
import io
import json
import re
import shlex
import sys
from binascii import b2a_base64
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TELLING: Final = 4
"""A secret of fewer characters occurs in ordinary words, so only a text that is nothing else is hidden."""
_TELLING_LINE: Final = 8
"""A shorter line of a longer secret says little, and ordinary texts have lines like it."""
_TELLING_BASE64: Final = 8
_ASSIGNED: Final = re.compile(r"""["']?[\w.-]+["']?\s*[:=]\s*["']?(.*?)["']?,?""")
"""A line that gives a name a value, as in YAML, JSON, INI and environment files."""

_UNRESERVED: Final = re.compile(r"[A-Za-z0-9_.~-]+")
_UNESCAPED: Final = re.compile(r"[ !#-%(-;=?-\[\]-~]+")
"""Printable ASCII without quotes, ampersands, angle brackets and backslashes: no notation escapes these."""


def _for_yaml(text: str) -> str:
    """Return a text as YAML writes it between double quotes, in one line."""
    from yaml.emitter import Emitter  # noqa: PLC0415 - commands that know no secret need no YAML

    stream = io.StringIO()
    Emitter(stream, width=sys.maxsize).write_double_quoted(text)
    return stream.getvalue()[1:-1]


_FOR_HTML: Final = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>&'"})
"""How the filter ``tojson`` of Jinja writes what HTML would read as its own."""

_ESCAPES: Final[tuple[Callable[[str], str], ...]] = (
    lambda text: repr(text)[1:-1],
    lambda text: repr('"' + text)[2:-1],  # as it is where a longer text has quotes of both kinds
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    lambda text: json.dumps(text)[1:-1],
    lambda text: text.replace("'", "''"),
    _for_yaml,
    lambda text: json.dumps(text)[1:-1].translate(_FOR_HTML),
)
"""How notations write a text between quotes: Python, JSON and YAML. A message within a message is escaped once more,
by Python or JSON."""


def forms(secret: str) -> set[str]:
    """Return every text that gives ``secret`` away: itself, its lines, and each of them quoted, escaped or encoded.

    All have at least four characters. What consists of asterisks alone is no secret: masks do.
    """
    if _UNRESERVED.fullmatch(secret):  # one line that no notation changes
        return {secret, *_in_base64(secret.encode())} if len(secret) >= TELLING else set()
    found = {text for text in _parts(secret) if len(text) >= TELLING}
    for text in tuple(found):
        found.update(_encodings(text))
    return {form for form in found if len(form) >= TELLING and form.strip("*")}


def _parts(secret: str) -> Iterator[str]:
    yield secret
    yield secret.strip()
    lines = secret.splitlines()
    if len(lines) < 2:
        return
    for line in map(str.strip, lines):
        if len(line) >= _TELLING_LINE:
            yield line
        assigned = _ASSIGNED.fullmatch(line)
        if assigned and len(assigned[1]) >= _TELLING_LINE:
            yield assigned[1]


def _encodings(text: str) -> Iterator[str]:
    raw = text.encode("utf-8", "surrogatepass")
    if not _UNESCAPED.fullmatch(text):
        for escaped in {escape(text) for escape in _ESCAPES}:
            yield escaped
            yield from (escape(escaped) for escape in _ESCAPES[1:4])
        yield text.encode("utf-8", "backslashreplace").decode()
        yield shlex.quote(text).strip("'")
        yield html.escape(text)
        yield html.escape(text, quote=False)
    if not _UNRESERVED.fullmatch(text):
        yield quote(raw, safe="")
        if "/" in text:
            yield quote(raw)
        if " " in text:
            yield quote_plus(raw)
    yield from _in_base64(raw)


def _in_base64(raw: bytes) -> Iterator[str]:
    """Yield what a secret may look like in Base64, which has a letter for every six bits.

    Where the secret begins decides which of three texts it becomes. The letters at the ends have bits of its
    neighbours, too, and are left out.
    """
    if 8 * len(raw) < 6 * _TELLING_BASE64 + 10:
        return
    for shift in range(3):
        encoded = b2a_base64(bytes(shift) + raw, newline=False)
        yield encoded[(8 * shift + 5) // 6 : 8 * (shift + len(raw)) // 6].decode()
