"""The forms in which a secret appears: its lines, and the ways in which programs quote and encode a text."""

from __future__ import annotations

import shlex
from binascii import b2a_base64
from typing import TYPE_CHECKING, Final

from asyncstate.pattern import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TELLING: Final = 4
"""The length below which a secret occurs in ordinary words, so that it is hidden only where it is the whole text."""
_TELLING_LINE: Final = 8
"""The length below which a line of a longer secret is not hidden: it reveals little, and ordinary texts have it too."""
_TELLING_BASE64: Final = 8
_ASSIGNED: Final = lazy_pattern(r"""["']?[\w.-]+["']?\s*[:=]\s*["']?(.*?)["']?,?""")
"""A line that gives a name a value, as in YAML, JSON, INI and environment files."""

_UNRESERVED: Final = lazy_pattern(r"[A-Za-z0-9_.~-]+")
_UNESCAPED: Final = lazy_pattern(r"[ !#-%(-;=?-\[\]-~]+")
"""Printable ASCII without quotes, ampersands, angle brackets and backslashes: no notation escapes it."""


def _for_yaml(text: str) -> str:
    """Return a text as YAML writes it between double quotes, in one line."""
    from asyncstate.data.yaml.scalar import yaml_dquote  # noqa: PLC0415 - only commands that know secrets need YAML

    return yaml_dquote(text)[1:-1]


def _for_json(text: str, *, ascii_only: bool = True) -> str:
    import json  # noqa: PLC0415 - as above

    return json.dumps(text, ensure_ascii=ascii_only)[1:-1]


_FOR_HTML: Final = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>&'"})
"""The characters with a meaning in HTML, as Jinja's filter ``tojson`` writes them."""

_ESCAPES: Final[tuple[Callable[[str], str], ...]] = (
    lambda text: repr(text)[1:-1],
    lambda text: repr('"' + text)[2:-1],  # as in a longer text that has quotes of both kinds
    lambda text: _for_json(text, ascii_only=False),
    _for_json,
    lambda text: text.replace("'", "''"),
    _for_yaml,
    lambda text: _for_json(text).translate(_FOR_HTML),
)
"""Python's, JSON's and YAML's ways to write a text between quotes. `_encodings` applies Python and JSON twice, because
a message within a message is escaped once more."""


def forms(secret: str) -> set[str]:
    """Return every text that reveals ``secret``: itself, its lines, and each of them quoted, escaped or encoded.

    Each has at least four characters. Texts of asterisks only are left out, because masks look like them.
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
        from html import escape as escape_html  # noqa: PLC0415 - its table of entities takes long

        yield escape_html(text)
        yield escape_html(text, quote=False)
    if not _UNRESERVED.fullmatch(text):
        from urllib.parse import quote, quote_plus  # noqa: PLC0415 - as above

        yield quote(raw, safe="")
        if "/" in text:
            yield quote(raw)
        if " " in text:
            yield quote_plus(raw)
    yield from _in_base64(raw)


def _in_base64(raw: bytes) -> Iterator[str]:
    """Yield the texts a secret may become within a Base64 text, which has a letter for every six bits.

    There are three, depending on the position where the secret begins. The letters at both ends also contain bits of
    the neighbouring text, so they are left out.
    """
    if 8 * len(raw) < 6 * _TELLING_BASE64 + 10:
        return
    for shift in range(3):
        encoded = b2a_base64(bytes(shift) + raw, newline=False)
        yield encoded[(8 * shift + 5) // 6 : 8 * (shift + len(raw)) // 6].decode()
