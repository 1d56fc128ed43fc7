"""How wide a text is drawn, and where it is broken into lines. Widths are in ems of DejaVu Sans.

That is the widest of the common fonts without serifs (Verdana is as wide), so a text fits with any other of them, too.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_ASCII = (
    # from the space to the tilde, in hundredths of an em
    32, 40, 46, 84, 64, 95, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34,
    84, 84, 84, 54, 100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79, 61, 79, 70, 64, 62, 74, 69, 99,
    69, 62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53,
    40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
)  # fmt: skip
_LETTER = 1.1
"""Any other letter or sign: nearly all are narrower."""
_WIDE = 1.3
"""A sign of East Asia is an em wide, an emoji somewhat more."""
_SPACED = re.compile(r"(?<=\s)(?=\S)")
_JOINED = re.compile(r"(?<=[/_.,:;=@+&|-])(?=[^/_.,:;=@+&|-])")
"""Where a word that is longer than a line may be broken."""


def width(text: str) -> float:
    """Return how wide a line is, in ems."""
    return sum(map(_width, text))


@lru_cache(4096)
def _width(character: str) -> float:
    if " " <= character <= "~":
        return _ASCII[ord(character) - 32] / 100
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0.0
    if unicodedata.east_asian_width(character) in {"W", "F"}:
        return _WIDE if unicodedata.category(character) == "So" else 1.0
    base = unicodedata.normalize("NFD", character)[0]
    return _width(base) if base != character else _LETTER


def lines(text: str, longest: float) -> list[str]:
    """Break a text into lines of at most ``longest`` ems: between words, else after punctuation, else anywhere."""
    found: list[str] = []
    line = ""
    for word in _SPACED.split(text):
        if width((line + word).rstrip()) <= longest:
            line += word
            continue
        if line:
            found.append(line.rstrip())
        *full, line = _parts(word, longest)
        found += full
    return [*found, line.rstrip()]


def _parts(word: str, longest: float) -> list[str]:
    """Break a word that may be longer than a line."""
    found = [""]
    for part in _JOINED.split(word):
        if found[-1] and width((found[-1] + part).rstrip()) > longest:
            found.append("")
        for character in part:
            if found[-1] and width(found[-1] + character.rstrip()) > longest:
                found.append("")
            found[-1] += character
    return found
