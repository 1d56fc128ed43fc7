"""What single values have to be, as `check`, states and execution modules judge them alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

ATTRIBUTES: Final = "aAcCdDeFijmPsStTux"
"""The letters of attributes that chattr sets."""


def is_one_line(text: str) -> bool:
    """Return whether every program reads the text as one line: no line separator, no NUL."""
    return len(f"{text}.".splitlines()) == 1 and "\0" not in text


def unfit(what: str, texts: Iterable[str], words: Iterable[str] = ()) -> str:
    """Return which text is not one line, or which word not one word, "" if all are. ``what`` has them in a file."""
    for text in texts:
        if not is_one_line(text):
            return f"{text!r}: {what} is one line"
    for word in words:
        if word.split() != [word]:
            return f"{word!r} must be one word in {what}"
    return ""
