"""Text for terminals: colours, text made safe to print, and readable times."""

import errno
import io
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from math import inf
from typing import IO, Any, NamedTuple

from asyncstate.pattern import lazy_pattern

_SEAL = os.urandom(8).hex()
"""Marks the colours of this program until they are written: text from outside cannot contain it."""
_SEALED = f"\x1b{_SEAL}["
_ESCAPE_TEXT = rf"\x1b(?:(?:{_SEAL})?\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"
_CONTROL_TEXT = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
"""Characters that control a terminal, end a line invisibly, or reverse the order of letters."""
_CONTROL = lazy_pattern(_CONTROL_TEXT)

_UNITS = ((60, "min", 60.0), (60, "h", 24.0), (24, "d", inf))
"""Units of time: the number of previous units in one, the name, the number of it in the next unit."""


class Palette(NamedTuple):
    """Colours by meaning, made by `Palette.colour`; all empty when colours are off."""

    green: str = ""
    cyan: str = ""
    yellow: str = ""
    red: str = ""
    bold: str = ""
    dim: str = ""
    reset: str = ""

    def paint(self, chosen: str, text: str) -> str:
        """Return ``text`` in a colour of this palette; unchanged if colours are off."""
        return f"{chosen}{text}{self.reset}" if chosen and text else text

    @staticmethod
    def colour(codes: str) -> str:
        """Return the ANSI sequence that selects a colour, sealed: only `without_control` makes it take effect."""
        return f"{_SEALED}{codes}m"


PLAIN = Palette()
COLOURED = Palette(*map(Palette.colour, ("32", "36", "33", "31", "1", "2", "0")))


def clean(text: str) -> str:
    """Remove escape sequences and write other control characters as escapes.

    The output of a command can then neither control the terminal nor reorder its text.
    """
    if text.isprintable():
        return text
    return _CONTROL.sub(_spelt, _expressions()[0].sub("", text.replace("\r\n", "\n")))


def without_control(text: str) -> str:
    """Clean a text like `clean`, but keep the colours that `Palette.colour` made, and unseal them.

    All text for people passes through this, even if its parts are already clean.
    """
    if text.isprintable():
        return text
    harmful = _expressions()[1]
    if harmful.search(text):
        text = harmful.sub(_removed, text.replace("\r\n", "\n"))
    return text.replace(_SEALED, "\x1b[")


@cache
def _expressions() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return those of escape sequences, and of all that is removed. They have the seal, which is kept nowhere."""
    return re.compile(_ESCAPE_TEXT), re.compile(rf"(?!\x1b{_SEAL})(?:{_ESCAPE_TEXT}|{_CONTROL_TEXT})")


def _removed(match: re.Match[str]) -> str:
    return "" if len(match[0]) > 1 else _spelt(match)


def _spelt(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def one_line(text: str, longest: int = 120) -> str:
    """Return the first line of ``text``, cleaned, with at most ``longest`` characters; ``…`` marks an omission."""
    first, newline, _ = clean(text.strip()).partition("\n")
    return f"{first[: longest - 1].rstrip()}…" if len(first) > longest else first + (" …" if newline else "")


def date_and_time(seconds: float, *, zone: bool = False) -> str:
    """Return seconds since the epoch as local date and time; ``?`` if out of range."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S %z" if zone else "%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return "?"


def short_time(seconds: float) -> str:
    """Format seconds for people: ``12 ms``, ``3.4 s``, ``2 min 5 s``, ``1 h 2 min``, ``2 d 3 h``."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole, small = round(seconds), "s"
    for size, large, limit in _UNITS:
        whole, rest = divmod(whole, size)
        if whole < limit:
            break
        small = large
    return f"{whole} {large} {rest} {small}" if rest else f"{whole} {large}"


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 state``, ``2 states``."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def has_gone(error: OSError, stream: IO[Any]) -> bool:
    """Whether a write failed because the reader has gone: the other end of a pipe, or a terminal, was closed."""
    if isinstance(error, BrokenPipeError):
        return True
    with suppress(OSError, io.UnsupportedOperation):
        return error.errno == errno.EIO and stat.S_ISCHR(os.fstat(stream.fileno()).st_mode)
    return False


def parted(parts: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of several parts, with an empty line between two of them."""
    for number, lines in enumerate(parts):
        yield from (*([""] if number else []), *lines)
