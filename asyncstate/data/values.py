"""Checks of single values, common to `check`, states and execution modules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

ATTRIBUTES: Final = "aAcCdDeFijmPsStTux"
"""The letters of attributes that chattr sets."""
_FULL_KEY: Final = re.compile(r"^(.*?)\s?((?:sk-)?(?:ssh\-|ecds)[\w@.-]+\s.+)$")
_LONGEST_ACCOUNT: Final = 32
_SIZE: Final = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)\s*([bkmgtpezy]?)(|b|ib)", re.IGNORECASE)


def is_one_line(text: str) -> bool:
    """Return whether every program reads the text as one line: no line separator, no NUL."""
    return len(f"{text}.".splitlines()) == 1 and "\0" not in text


BLANKS_OF_C = " \t\v\f\r"
"""The white space of the C library within a line; that of Python has more."""


def fields_of(line: str, blanks: str = " \t") -> list[str]:
    """Return the fields of a line of a table such as fstab, with one or several ``blanks`` between them."""
    return [field for field in line.rstrip("\n").translate(dict.fromkeys(map(ord, blanks), " ")).split(" ") if field]


def unfit(what: str, texts: Iterable[str], words: Iterable[str] = ()) -> str:
    """Return a message about a text that is not one line, or a word that is not one word; "" if all fit in ``what``."""
    for text in texts:
        if not is_one_line(text):
            return f"{text!r}: {what} is one line"
    for word in words:
        if word.split() != [word]:
            return f"{word!r} must be one word in {what}"
    return ""


def unfit_account(name: str) -> str:
    """Return the reason why a name cannot be an account's, "" if it can."""
    if name.split() != [name] or name[0] == "-" or set(name) & set(":,/\0") or len(name.encode()) > _LONGEST_ACCOUNT:
        return f"{name!r} cannot name an account"
    return ""


class KeyLine(NamedTuple):
    """A line of authorized_keys: ``options``, ``enc`` and ``comment`` are "" if missing."""

    options: str
    enc: str
    key: str
    comment: str


def parse_key_line(line: str) -> KeyLine:
    """Parse ``[options] type key [comment]``, or ``key [comment]``."""
    full = _FULL_KEY.search(line)
    enc, key, *rest = full[2].split(None, 2) if full else ("", *(line.split(None, 1) or [line]))
    return KeyLine(full[1] if full else "", enc, key, rest[0] if rest else "")


def bytes_of(size: str) -> int | None:
    """Return "10K", "3MiB", "2MB" as bytes; ``…B`` counts in thousands. 0 for empty text, None for invalid text."""
    match = _SIZE.fullmatch(size.strip() or "0")
    if match is None or (match[2].lower() in {"", "b"} and match[3]):
        return None
    thousands = match[3].lower() == "b"
    return int(float(match[1]) * (1000 if thousands else 1024) ** "bkmgtpezy".index(match[2].lower() or "b"))
