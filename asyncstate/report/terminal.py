"""Text for terminals: colours, text made safe to print, and readable times."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
from contextlib import suppress
from typing import IO, Any, NamedTuple

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that control a terminal, end a line invisibly, or reverse the order of letters."""


class Palette(NamedTuple):
    """ANSI sequences by meaning; all empty when colours are off."""

    green: str = ""
    cyan: str = ""
    yellow: str = ""
    red: str = ""
    bold: str = ""
    dim: str = ""
    reset: str = ""

    def paint(self, colour: str, text: str) -> str:
        """Return ``text`` in a colour of this palette; unchanged if colours are off."""
        return f"{colour}{text}{self.reset}" if colour and text else text


PLAIN = Palette()
COLOURED = Palette("\x1b[32m", "\x1b[36m", "\x1b[33m", "\x1b[31m", "\x1b[1m", "\x1b[2m", "\x1b[0m")


def clean(text: str) -> str:
    """Remove escape sequences and write other control characters as escapes.

    So the output of a command cannot control the terminal, nor show its text in another order.
    """
    if text.isprintable():
        return text
    return _CONTROL.sub(_spelt, _ESCAPE.sub("", text.replace("\r\n", "\n")))


def _spelt(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def one_line(text: str, longest: int = 120) -> str:
    """Return the first line of ``text``, cleaned, with at most ``longest`` characters; ``…`` marks an omission."""
    first, newline, _ = clean(text.strip()).partition("\n")
    return f"{first[: longest - 1].rstrip()}…" if len(first) > longest else first + (" …" if newline else "")


def milliseconds(value: float) -> str:
    """Format milliseconds as Salt's summary does: ``12.345 ms``, from one second on ``1.234 s``."""
    return f"{value / 1000:.3f} s" if value > 999 else f"{value:.3f} ms"


def short_time(seconds: float) -> str:
    """Format seconds in four or five characters: ``12 ms``, ``3.4 s``, ``2m05s``, ``1h02m``."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02d}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02d}m"


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 state``, ``2 states``."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def has_gone(error: OSError, stream: IO[Any]) -> bool:
    """Whether writing failed because nobody is there to read: a pipe was closed at its other end, or a terminal."""
    if isinstance(error, BrokenPipeError):
        return True
    with suppress(OSError, io.UnsupportedOperation):
        return error.errno == errno.EIO and stat.S_ISCHR(os.fstat(stream.fileno()).st_mode)
    return False
